/**
 * The names of the records that `weir publish` makes, and which of them no edge serves: nothing of an edge applies to these
 * records, so a person should know while the log is still at hand.
 */
import { jsonOf } from '../../ground/core/bytes.js'
import { every, type Timer } from '../../ground/core/clock.js'
import { getOrMake } from '../../ground/core/maps.js'
import { hostOf } from '../record/spelling.js'
import { connectionSubject } from '../wire/names.js'
import {
  type AskedName,
  namesAskedMax,
  type ServedAnswer,
  type ServedQuestion,
} from '../wire/served-names.js'

/** Names that are counted one by one: a client may send a new one with each request. */
const namesMax = 1_000
const askEveryMs = 60_000
const namesShown = 5

/** Records that no edge serves, as far as they were counted by name. */
export interface Unserved {
  readonly records: number
  /** Those with the most records first. */
  readonly names: readonly { readonly name: string; readonly records: number }[]
  /** Records of further names, about which nothing is known. */
  readonly not_looked_at: number
  readonly account_id: string | null
  /** Hostports of the account, the nearest first. */
  readonly edges: readonly string[]
  readonly more_edges: boolean
}

interface Named extends AskedName {
  records: number
}

interface MadeRecord {
  readonly type?: AskedName['type']
  readonly edge_id?: string | null
  readonly conn?: { readonly server_name?: string | null; readonly server_port?: number | null }
}

interface PublishedNamesOptions {
  /** Rejects if there is no answer. */
  readonly ask: (subject: string, question: string) => Promise<Uint8Array>
  readonly accountId: string | undefined
  readonly report: { note(text: string): void; unserved: Unserved | undefined }
}

export class PublishedNames {
  readonly #options: PublishedNamesOptions
  readonly #names = new Map<string, Named>()
  #furtherRecords = 0
  /** The names that were reported. */
  #reported = ''
  readonly #timer: Timer

  constructor(options: PublishedNamesOptions) {
    this.#options = options
    this.#timer = every(askEveryMs, () => this.#tell())
  }

  /** A record that names its edge is served by it. */
  readonly add = (made: object): void => {
    const { type = 'tcp_connection', edge_id, conn } = made as MadeRecord
    if (edge_id) return
    const [server_name, server_port] = [conn?.server_name ?? '', conn?.server_port ?? 0]
    const key = `${type} ${server_name.toLowerCase()}:${server_port}`
    if (this.#names.size >= namesMax && !this.#names.has(key)) this.#furtherRecords += 1
    else getOrMake(this.#names, key, () => ({ type, server_name, server_port, records: 0 })).records += 1
  }

  /** To be called when all records are stored. */
  async end(): Promise<void> {
    this.#timer.stop()
    if (this.#names.size === 0) return
    const unserved = await this.#unserved()
    if (unserved === undefined)
      this.#options.report.note(
        'Whether edges serve the names in the log is not known: weir.decide does not answer.',
      )
    this.#options.report.unserved = unserved
  }

  close(): void {
    this.#timer.stop()
  }

  /** While it runs, each set of names is reported once. */
  async #tell(): Promise<void> {
    const unserved = await this.#unserved()
    const names = unserved?.names.map(({ name }) => name).join(' ') ?? ''
    if (unserved === undefined || names === '' || names === this.#reported) return
    this.#reported = names
    for (const sentence of sentencesOf(unserved)) this.#options.report.note(sentence)
  }

  /** Undefined if no one answers. */
  async #unserved(): Promise<Unserved | undefined> {
    const { accountId, ask } = this.#options
    const all = [...this.#names.values()].sort((one, other) => other.records - one.records)
    const found: Named[] = []
    let last: ServedAnswer | undefined
    for (let start = 0; start < all.length; start += namesAskedMax) {
      const asked = all.slice(start, start + namesAskedMax)
      const question: ServedQuestion = {
        account_id: accountId,
        served_names: asked.map(({ records: _, ...name }) => name),
      }
      const answer = await ask(connectionSubject, JSON.stringify(question)).then(answerIn, () => undefined)
      if (answer === undefined) return undefined
      found.push(...asked.filter((_, index) => answer.served[index] === false))
      // The first names have the most records, and the edges are those that are most like them.
      last ??= answer.served.includes(false) ? answer : undefined
    }
    return {
      records: found.reduce((sum, { records }) => sum + records, 0),
      names: found.slice(0, namesShown).map((name) => ({ name: nameOf(name), records: name.records })),
      not_looked_at: this.#furtherRecords,
      account_id: last?.account_id ?? accountId ?? null,
      edges: last?.edges ?? [],
      more_edges: last?.more_edges ?? false,
    }
  }
}

/** An older service takes the question for a bad record. */
function answerIn(bytes: Uint8Array): ServedAnswer | undefined {
  const answer = jsonOf<Partial<ServedAnswer>>(bytes)
  return Array.isArray(answer.served) ? (answer as ServedAnswer) : undefined
}

/** As hostports are written. */
function nameOf({ server_name, server_port }: AskedName): string {
  const host = server_name === '' ? 'no name' : hostOf(server_name)
  if (server_port === 0) return `${host} without a port`
  return server_name === '' ? `${host}, port ${server_port}` : `${host}:${server_port}`
}

export function sentencesOf({
  records,
  names,
  not_looked_at,
  account_id,
  edges,
  more_edges,
}: Unserved): string[] {
  const further =
    not_looked_at === 0
      ? []
      : [`${not_looked_at} records have further names: whether edges serve these was not looked at.`]
  if (records === 0) return further
  const [first] = names
  const listed = names.map(({ name, records: count }) => (count === records ? name : `${name} (${count})`))
  const left = names.reduce((rest, { records: count }) => rest - count, records)
  const others = left === 0 ? '' : `, and others (${left})`
  const what = `${records} ${records === 1 ? 'record' : 'records'}: no edge serves ${listed.join(', ')}${others}`
  if (account_id === null)
    return [`${what}; they name no account, so no account sees them: give --account.`, ...further]
  const served =
    edges.length === 0 ? 'there are no edges yet' : `edges: ${edges.join(', ')}${more_edges ? ', …' : ''}`
  return [`${what}; ${served}`, ...suggestion(first?.name ?? '', edges), ...further]
}

/** Another port of the same name is the most frequent slip. */
function suggestion(name: string, edges: readonly string[]): string[] {
  const host = name.slice(0, name.lastIndexOf(':'))
  const same = edges.find((edge) => edge.slice(0, edge.lastIndexOf(':')) === host)
  return same === undefined
    ? []
    : [
        `The edge of ${same} serves another port of that name: add ${name} to its hostports, or give --server-port.`,
      ]
}
