/**
 * A source's text, before there is a list of it: fetched and read as a list is, within the same bounds, and not stored.
 */

import { hiding } from '../../../delivery/outgoing/hidden-secrets.js'
import { likelyFormat } from '../../../ground/core/address/list-formats.js'
import { now } from '../../../ground/core/clock.js'
import type { Turns } from '../../../ground/core/concurrency.js'
import { EntryFaults } from '../../../ground/core/entry-faults.js'
import { WeirError } from '../../../ground/core/errors.js'
import { Slices } from '../../../ground/core/slices.js'
import type { PreviewedSource } from '../../../words/resource/fields/ip-list-source.js'
import type { IpListPreview } from '../../../words/shape/ip-lists/ip-list-preview.js'
import { entriesOf } from '../../write/list-packing.js'
import { FeedFault, feedFaultOf } from './feed-fault.js'
import { isWebPage, webPageMessage } from './web-page.js'

const shownMax = 10

interface PreviewParts {
  /** Rejects with a `FeedFault`. */
  readonly fetch: () => Promise<Buffer>
  /** Lists are parsed one at a time. */
  readonly parsing: Pick<Turns, 'take'>
}

/** An error of the source is an answer, without what is secret. */
export async function previewOf(
  { format, secret_headers }: PreviewedSource,
  { fetch, parsing }: PreviewParts,
  signal: AbortSignal,
): Promise<IpListPreview> {
  const hide = hiding(Object.values(secret_headers ?? {}).filter((secret) => typeof secret === 'string'))
  try {
    const bytes = await fetch()
    if (isWebPage(bytes)) throw new FeedFault('invalid', webPageMessage)
    const chosen = format ?? likelyFormat(bytes.toString('utf8', 0, beginBytes))
    const found = await parsing.take(() => read(bytes, chosen, signal))
    return { format: chosen, bytes: bytes.length, ...found, error: null }
  } catch (error) {
    signal.throwIfAborted()
    const { code, message } = feedFaultOf(error)
    return { ...nothing, error: { code, message: hide(message) } }
  }
}

/** The beginning of a text tells its format. */
const beginBytes = 64 * 1024

const nothing = { format: null, bytes: 0, entries: 0, first: [], refused: [] }

async function read(
  bytes: Buffer,
  format: NonNullable<IpListPreview['format']>,
  signal: AbortSignal,
): Promise<Pick<IpListPreview, 'entries' | 'first' | 'refused'>> {
  const slices = new Slices({ signal })
  const faults = new EntryFaults()
  const first: IpListPreview['first'] = []
  let entries = 0
  for (const entry of await entriesOf(bytes, format, slices, faults, { nowMs: now(), isFed: true })) {
    if (entry !== undefined) {
      entries += 1
      if (first.length < shownMax) first.push({ cidr: entry.cidr, comment: entry.comment })
    }
    if (slices.isDue()) await slices.pause()
  }
  return { entries, first, refused: sentencesOf(faults) }
}

function sentencesOf({ error }: EntryFaults): string[] {
  if (!(error instanceof WeirError)) return []
  const all = Object.values(error.details)
  return (all.length === 0 ? [error.message] : all).slice(0, shownMax)
}
