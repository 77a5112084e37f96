/** The operations on dead letters and their answers, for an account over HTTP, and for an operator on the command line. */

import { parseRecord } from '../../delivery/record/record.js'
import { reasonPattern } from '../../delivery/wire/reason-pattern.js'
import { jsonOf } from '../../ground/core/bytes.js'
import { isoMillis } from '../../ground/core/clock.js'
import { badRequest, conflict, scalarShown } from '../../ground/core/errors.js'
import type { Links } from '../../words/resource/kind/define.js'
import type { DeadLetter, DeadLetterBatch, DeadLetterGroups } from '../../words/shape/dead-letter.js'
import { checkNames } from '../exchange/body/input.js'
import { limitOf, queryText, withFixedTimes } from '../exchange/query-values.js'
import {
  deadLettersPath,
  placeOf,
  type Selecting,
  searchFor,
  selectingNames,
  shownLetter,
} from './dead-letter-queries.js'
import type { DeadLetterResender, Refusal } from './dead-letter-resender.js'
import type { DeadLetters, Sight } from './dead-letters.js'
import { type Letter, placeId } from './letters-of-message.js'

/** Letters of one request, and their bytes: a client repeats the request for more. */
const batchMax = 1_000
const batchBytesMax = 16 * 1024 * 1024
const refusalsShown = 10

interface LettersPage {
  readonly dead_letters: readonly DeadLetter[]
  readonly uri: string
  readonly next_page_uri: string | null
}

type PageQuery = Selecting & { readonly limit?: string | undefined; readonly before_id?: string | undefined }

export async function pageOfLetters(
  letters: DeadLetters,
  sight: Sight,
  query: PageQuery,
  links: Pick<Links, 'uri'>,
  shownAs: (letter: Letter, links: Pick<Links, 'uri'>) => DeadLetter = shownLetter,
): Promise<LettersPage> {
  const limit = limitOf(query.limit)
  const wanted = { ...searchFor(query), before: placeOf(query.before_id) }
  const found: Letter[] = []
  const end = await letters.search(sight, wanted, (letter) => found.push(letter) > limit)
  const last = found.length > limit ? found[limit - 1]!.id : end && placeId(end.before)
  const uri = links.uri(deadLettersPath)
  const next = last && queryText({ ...withFixedTimes(query), limit: String(limit), before_id: last })
  return {
    dead_letters: found.slice(0, limit).map((letter) => shownAs(letter, links)),
    uri,
    next_page_uri: next === undefined ? null : `${uri}?${next}`,
  }
}

export async function groupsOfLetters(
  letters: DeadLetters,
  sight: Sight,
  query: Selecting,
): Promise<DeadLetterGroups> {
  const groups = new LetterGroups()
  const end = await letters.search(sight, searchFor(query), (letter) => !groups.add(letter))
  return { ...groups.listed(), complete_since: end === undefined ? null : isoMillis(end.atMs) }
}

/** The work on the letters that a request selects; resolves with those that stay. */
const batchWork = {
  resend: (resender: DeadLetterResender, batch: readonly Letter[]): Promise<Refusal[]> =>
    resender.resend(batch),
  drop: async (resender: DeadLetterResender, batch: readonly Letter[]): Promise<Refusal[]> => {
    await resender.drop(batch)
    return []
  },
}

export type BatchVerb = keyof typeof batchWork

export async function changeLetters(
  letters: DeadLetters,
  resender: DeadLetterResender,
  sight: Sight,
  verb: BatchVerb,
  body: Readonly<Record<string, unknown>>,
): Promise<DeadLetterBatch> {
  const { batch, next } = await batchFor(letters, sight, body)
  const refusals = await batchWork[verb](resender, batch)
  return {
    done: batch.length - refusals.length,
    refused: refusals.length,
    refusals: refusals.slice(0, refusalsShown).map(({ letter, reason }) => ({ id: letter.id, reason })),
    next_before_id: next,
  }
}

async function batchFor(
  letters: DeadLetters,
  sight: Sight,
  body: Readonly<Record<string, unknown>>,
): Promise<{ batch: Letter[]; next: string | null }> {
  const names = ['before_id', ...selectingNames] as const
  checkNames(body, names, 'selection of dead letters')
  for (const [name, value] of Object.entries(body))
    if (typeof value !== 'string') throw badRequest(`"${name}" is ${scalarShown(value)}: a text is needed.`)
  const selection = body as { readonly [Name in (typeof names)[number]]?: string }
  const wanted = { ...searchFor(selection), before: placeOf(selection.before_id) }
  const batch: Letter[] = []
  let bytes = 0
  const end = await letters.search(sight, wanted, (letter) => {
    bytes += letter.data.length
    return batch.push(letter) === batchMax || bytes > batchBytesMax
  })
  return { batch, next: end === undefined ? null : placeId(end.before) }
}

/**
 * Sends a letter again. A corrected `record` names `accountId`, so that it can't become one of another account's edge;
 * undefined for an operator, who may name any.
 */
export async function resendLetter(
  resender: DeadLetterResender,
  letter: Letter,
  body: Readonly<Record<string, unknown>>,
  accountId: string | undefined,
): Promise<void> {
  checkNames(body, ['record'], 'request to send a dead letter again')
  const { record = null } = body
  if (record !== null) return resender.resendEdited(letter, editedRecord(letter, record, accountId))
  const [refusal] = await resender.resend([letter])
  if (refusal !== undefined)
    throw conflict(`The dead letter ${letter.id} can't be sent again. ${refusal.reason}`)
}

function editedRecord({ type, data }: Letter, record: unknown, accountId: string | undefined): Uint8Array {
  if (type !== 'record') throw badRequest('"record" is given, but the dead letter is no record.')
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw badRequest(`"record" is ${scalarShown(record)}: an object is needed.`)
  const { account_id = accountId, record_id = recordIdIn(data) } = record as Record<string, unknown>
  if (accountId !== undefined && account_id !== accountId)
    throw badRequest('"record.account_id" is not your account.')
  const bytes = Buffer.from(JSON.stringify({ ...record, record_id, account_id }))
  const checked = parseRecord(bytes)
  if (!checked.ok) throw badRequest(`"record" is not valid: ${checked.problem.msg}`)
  return bytes
}

function recordIdIn(data: Uint8Array): unknown {
  try {
    return jsonOf<{ record_id?: unknown } | null>(data)?.record_id
  } catch {
    return undefined
  }
}

/** Groups that are listed, and groups that are counted separately. */
const groupsListed = 100
const groupsMax = 1_000

type ListedGroup = DeadLetterGroups['groups'][number]

/** A group; the letters are counted from the newest. */
interface Group extends Pick<ListedGroup, 'type' | 'reason' | 'destination_id' | 'example_id'> {
  count: number
  firstMs: number
  /** When the oldest is removed. */
  firstExpiresMs: number | undefined
  readonly lastMs: number
}

/** Letters whose group is known: the neighbours in a message are mostly alike, and there may be half a million of them. */
interface Alike {
  readonly type: string
  readonly reason: string
  readonly destinationId: string | null
  readonly group: Group
}

/** Sums dead letters by type, reason and destination. */
class LetterGroups {
  readonly #groups = new Map<string, Group>()
  #last: Alike | undefined

  /** The newest letter first. False if there are too many groups to count this one: it was not counted. */
  add(letter: Letter): boolean {
    const group = this.#groupOf(letter)
    if (group === undefined) return false
    group.count += 1
    group.firstMs = letter.storedAtMs
    group.firstExpiresMs = letter.expiresAtMs
    return true
  }

  #groupOf({ id, type, origin, storedAtMs, expiresAtMs }: Letter): Group | undefined {
    const { reason, destinationId } = origin
    const last = this.#last
    if (last?.reason === reason && last.type === type && last.destinationId === destinationId)
      return last.group
    const pattern = reasonPattern(reason)
    const key = JSON.stringify([type, pattern, destinationId])
    let group = this.#groups.get(key)
    if (group === undefined) {
      if (this.#groups.size === groupsMax) return undefined
      const names = { type, reason: pattern, destination_id: destinationId, example_id: id }
      group = { ...names, count: 0, firstMs: storedAtMs, firstExpiresMs: expiresAtMs, lastMs: storedAtMs }
      this.#groups.set(key, group)
    }
    this.#last = { type, reason, destinationId, group }
    return group
  }

  /** The largest first. */
  listed(): Pick<DeadLetterGroups, 'groups' | 'groups_left_out'> {
    const groups = [...this.#groups.values()].sort((one, other) => other.count - one.count)
    return {
      groups: groups.slice(0, groupsListed).map(listedGroup),
      groups_left_out: Math.max(0, groups.length - groupsListed),
    }
  }
}

const listedGroup = ({
  count,
  firstMs,
  firstExpiresMs,
  lastMs,
  example_id,
  ...names
}: Group): ListedGroup => ({
  ...names,
  count,
  first_at: isoMillis(firstMs),
  last_at: isoMillis(lastMs),
  expires_at: firstExpiresMs === undefined ? null : isoMillis(firstExpiresMs),
  example_id,
})
