/** Certificates and API keys of an account that end soon, or ended in the last week. */
import { isoMillis } from '../../ground/core/clock.js'
import { Slices } from '../../ground/core/slices.js'
import { pluralOf } from '../../ground/core/text/plural.js'
import type { Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import type { Attention } from '../../words/shape/overview.js'
import type { ViewState } from '../../words/view/view-state.js'
import { attention, counted, timeText } from './destination-attention.js'

/** The members that hold the beginning and the end; without the first, the row's creation is the beginning. */
const endings = {
  tls_certificate: { from: 'not_before', to: 'not_after' },
  certificate_authority: { from: 'not_before', to: 'not_after' },
  ssh_host_certificate: { from: 'valid_after', to: 'valid_until' },
  ssh_user_certificate: { from: 'valid_after', to: 'valid_until' },
  api_key: { from: undefined, to: 'expires_at' },
} as const

type EndingKind = keyof typeof endings

const dayMs = 24 * 60 * 60_000
const soonMs = 30 * dayMs
const verySoonMs = 7 * dayMs
/** A resource that ended earlier was replaced, or is not needed. */
const endedMs = 7 * dayMs
/** One that lasts for less ends on purpose, and is not reported until a third of its time is left. */
const shareLeft = 3

const idsShown = 20

interface Ending {
  readonly row: Row
  readonly endMs: number
}

/** One finding for each kind, with the ids that end first. */
export async function expiringResources(
  stateOf: () => ViewState,
  accountId: string,
  nowMs: number,
): Promise<Attention[]> {
  const found: Attention[] = []
  for (const kind of Object.keys(endings) as EndingKind[]) {
    const ending = await endingOf(stateOf, accountId, kind, nowMs)
    if (ending.length > 0) found.push(findingOf(kind, ending, stateOf(), accountId, nowMs))
  }
  return found
}

/** Those of a kind that end first come first. In slices: an account may have very many. */
async function endingOf(
  stateOf: () => ViewState,
  accountId: string,
  kind: EndingKind,
  nowMs: number,
): Promise<Ending[]> {
  const ending: Ending[] = []
  const slices = new Slices()
  let position: string | undefined
  for (let isDue = true; isDue; ) {
    isDue = false
    const state = stateOf()
    for (const id of state.ids(accountId, kind).below(position)) {
      const row = state.rows.get(kind)?.get(id)
      const endMs = row === undefined ? Number.NaN : soonEnd(kind, row, nowMs)
      if (row !== undefined && !Number.isNaN(endMs)) ending.push({ row, endMs })
      position = id
      isDue = slices.isDue()
      if (isDue) break
    }
    if (isDue) await slices.pause()
  }
  return ending.sort((one, other) => one.endMs - other.endMs)
}

/** When it ends; NaN if that is not soon. */
function soonEnd(kind: EndingKind, row: Row, nowMs: number): number {
  const { from, to } = endings[kind]
  const endMs = Date.parse(String(row[to]))
  const lifetimeMs = endMs - (from === undefined ? row.created_at : Date.parse(String(row[from])))
  const leftMs = endMs - nowMs
  return leftMs > -endedMs && leftMs < Math.min(soonMs, lifetimeMs / shareLeft) ? endMs : Number.NaN
}

function findingOf(
  kind: EndingKind,
  ending: readonly Ending[],
  state: ViewState,
  accountId: string,
  nowMs: number,
): Attention {
  const { title } = resourceOf(kind)
  const ended = ending.filter(({ endMs }) => endMs <= nowMs).length
  const until = isoMillis(ending[0]!.endMs)
  const sentence =
    ending.length === 1
      ? `The ${title} ${ending[0]!.row.id} ${ended === 1 ? 'ended' : 'ends'} at ${timeText(until)}.`
      : `${counted(ending.length, title, pluralOf(title))} ${verbFor(ending.length, ended)}, the first at ${timeText(until)}.`
  return attention({
    type: kind === 'api_key' ? 'keys_expiring' : 'certificates_expiring',
    severity: severityFor(kind, ending, state, accountId, nowMs),
    sentence,
    count: ending.length,
    until,
    kind,
    ids: ending.slice(0, idsShown).map(({ row }) => row.id),
  })
}

function verbFor(count: number, ended: number): string {
  if (ended === count) return 'have ended'
  return ended === 0 ? 'end within 30 days' : 'end within 30 days or have ended'
}

/** A certificate that ended is a failure if a domain still names it: clients are refused. */
function severityFor(
  kind: EndingKind,
  ending: readonly Ending[],
  state: ViewState,
  accountId: string,
  nowMs: number,
): Attention['severity'] {
  const ended = new Set(ending.flatMap(({ row, endMs }) => (endMs <= nowMs ? [row.id] : [])))
  if (kind === 'tls_certificate' && ended.size > 0 && isNamed(ended, state, accountId)) return 'failing'
  return ending[0]!.endMs - nowMs < verySoonMs ? 'attention' : 'notice'
}

function isNamed(certificates: ReadonlySet<string>, state: ViewState, accountId: string): boolean {
  for (const id of state.ids(accountId, 'domain').below()) {
    const certificate = state.rows.get('domain')?.get(id)?.['certificate_id']
    if (certificates.has(String(certificate))) return true
  }
  return false
}
