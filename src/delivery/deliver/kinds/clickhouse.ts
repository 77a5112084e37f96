/**
 * A table in a ClickHouse server: INSERT … FORMAT JSONEachRow, one event per row.
 * https://clickhouse.com/docs/interfaces/formats/JSONEachRow
 *
 * - A row is the event as it is: the columns are `event_id`, `event_type`, `event_timestamp`, `account_id`, `object` (a
 *   Tuple, JSON or String, which takes what is nested) and, for audit events, `principal`.
 * - A member that the table has no column for is refused, unless `unknown_fields` is `skip`: by default, the server would
 *   leave it out silently.
 * - A request is one block, so it is inserted as a whole, and named by its events' ids: if it is repeated, a table that
 *   deduplicates stores it once. Requests hold whole packs for that.
 */
import { hash } from 'node:crypto'
import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { fail, ok, type Problem, type Result } from '../../../ground/core/errors.js'
import { documented, objectOf, oneOf, ruled, Type } from '../../../ground/core/schema.js'
import { withDeadline } from '../../outgoing/deadline.js'
import type { Fault } from '../../outgoing/fault-class.js'
import { fault } from '../../outgoing/faults.js'
import { faultOfError } from '../../outgoing/http-faults.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { clickhouseAdvice } from '../advice/server-advice.js'
import { faultIn, isInserted, notClickhouse } from '../clickhouse/clickhouse-faults.js'
import type { Answer } from '../clickhouse/table-client.js'
import { clickhouseForm, clickhouseWords } from '../forms/server-forms.js'
import type { DestinationConfig } from '../kind/destination.js'
import { eventTypeIn } from '../kind/event-type.js'
import { defineDestinationKind, type KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import type { BatchLimits, Finding, Sender, SenderDeps, SendOutcome } from '../kind/sender.js'
import { type OptionsOf, optional, secretText, targetOptions } from '../kind/target-options.js'

// --- address ---

const urlForm = /^https?:\/\/[^\s/?#@\\]+\/?$/

const checkUrl = (url: string): Problem | undefined =>
  url.length <= 300 && urlForm.test(url) && URL.canParse(url)
    ? undefined
    : // The value may have a password in it, so it is not shown.
      {
        msg: 'is not the address of a ClickHouse server: scheme, host and port are allowed, such as https://clickhouse.example.com:8443; user and password are to be given in "auth"',
      }

// --- options ---

const nameForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,126}$/

const nameOf = (description: string) =>
  ruled(Type.String({ maxLength: 127, description, ...documented({ pattern: nameForm.source }) }), (name) =>
    nameForm.test(name)
      ? undefined
      : 'a name has letters, digits, "_", "-" and ".", the first not "-" or "."',
  )

const options = targetOptions(
  {
    database: optional(nameOf('Default: the default database of the user.')),
    table: nameOf('The table, or a view that takes inserts.'),
    auth: optional(
      objectOf(
        {
          username: ruled(Type.String({ minLength: 1, maxLength: 200 }), (name) =>
            /[\p{Cc}:]/u.test(name) ? 'control characters and ":" are not allowed' : undefined,
          ),
          password: secretText({ charsMax: 1_000, description: 'The password.' }),
        },
        { description: 'Default: the user default, without a password.' },
      ),
    ),
    async_insert: optional(
      Type.Boolean({
        description:
          'The server gathers the rows of several requests, and answers once they are stored. Default: false.',
      }),
    ),
    unknown_fields: optional(
      oneOf(
        ['refuse', 'skip'],
        'What the server does with a member of an event for which the table has no column. refuse, the default: the destination is paused until someone adds it. skip: leaves it out.',
      ),
    ),
  },
  // A password is known for one user of one server.
  { recipient: (url, { auth }) => `${auth?.username ?? ''} ${new URL(url).origin}` },
)

type ClickhouseOptions = OptionsOf<typeof options>

// --- limits ---

const mebibyte = 1024 * 1024

const limits: KindLimits = {
  eventsMax: 10_000,
  eventBytesMax: 8 * mebibyte,
  sizeOf: ({ dataBytes }) => dataBytes,
  // Each request makes a part, and a server merges only so many: it prefers few large ones.
  lingerMs: 1_000,
  wholePacks: true,
}

// --- client ---

const sdk = loadedOnce(() => import('../clickhouse/table-client.js'))

// --- sender ---

const quoted = (name: string): string => `\`${name}\``

class ClickhouseSender implements Sender {
  readonly #url: string
  readonly #options: ClickhouseOptions
  readonly #deps: SenderDeps
  readonly #table: string
  #client: ClickHouseClient | undefined

  constructor({ address, options: given }: DestinationConfig<ClickhouseOptions>, deps: SenderDeps) {
    this.#url = address
    this.#options = given
    this.#deps = deps
    const { database, table } = this.#options
    this.#table = [...(database === undefined ? [] : [database]), table].map(quoted).join('.')
  }

  limits(): BatchLimits {
    return this.#deps.limits
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const rows = Buffer.concat(events.map(({ data }) => data))
    const settings = this.#insertSettings(events)
    const query = `INSERT INTO ${this.#table} FORMAT JSONEachRow`
    const asked = await this.#ask(query, rows, settings, signal)
    if (!asked.ok) return { outcome: 'failed', fault: asked.problem }
    if (isInserted(asked.value)) return { outcome: 'accepted', requestId: asked.value.queryId }
    return { outcome: 'failed', fault: { ...faultIn(asked.value), requestId: asked.value.queryId } }
  }

  #insertSettings(events: readonly PackedEvent[]): ClickHouseSettings {
    const { async_insert = false, unknown_fields } = this.#options
    // A table of traffic events has no column for what a test event says.
    const isTest = events.length === 1 && eventTypeIn(events[0]!.data) === 'test.v0'
    const skips = unknown_fields === 'skip' || isTest ? 1 : 0
    return {
      date_time_input_format: 'best_effort',
      input_format_skip_unknown_fields: skips,
      input_format_json_ignore_unknown_keys_in_named_tuple: skips,
      // One block, so that all rows are inserted or none.
      input_format_parallel_parsing: 0,
      insert_deduplication_token: hash('sha256', events.map(({ id }) => id).join(' '), 'base64url'),
      async_insert: async_insert ? 1 : 0,
      wait_for_async_insert: 1,
      ...(async_insert && { async_insert_deduplicate: 1 }),
    }
  }

  async check(event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const described = await this.#askAbout(`DESCRIBE TABLE ${this.#table} FORMAT JSONEachRow`, signal)
    if (!described.ok) return unlessDenied(described.problem)
    const missing = missingColumns(event, described.value)
    if (missing.length > 0 && this.#options.unknown_fields !== 'skip') return fail(noColumns(missing))
    const granted = await this.#askAbout(`CHECK GRANT INSERT ON ${this.#table}`, signal)
    const says = granted.ok ? granted.value.trim() : 'an older server does not know the query'
    if (says === '0') return fail(mayNotInsert)
    const columns =
      missing.length === 0 ? 'has a column for each member of an event' : `leaves out ${missing.join(', ')}`
    const proved = [accepted, `The table exists, and ${columns}.`]
    const fits = 'That the types of the columns take every event.'
    return says === '1'
      ? ok({ mayWrite: true, proved: [...proved, 'The user may insert into it.'], notProved: [fits] })
      : ok({ mayWrite: false, proved, notProved: ['The right to insert.', fits] })
  }

  /** The text of an answer without a fault. */
  async #askAbout(query: string, signal: AbortSignal): Promise<Result<string, Fault>> {
    const asked = await this.#ask(query, undefined, {}, signal)
    if (!asked.ok) return asked
    if (asked.value.status !== 200) return fail(faultIn(asked.value))
    return asked.value.isClickhouse ? ok(asked.value.text) : fail(notClickhouse)
  }

  async #ask(
    query: string,
    rows: Buffer | undefined,
    settings: ClickHouseSettings,
    signal: AbortSignal,
  ): Promise<Result<Answer, Fault>> {
    try {
      const { ask, openClient } = await sdk()
      this.#client ??= openClient(this.#url, this.#options, this.#deps)
      const client = this.#client
      const work = (abort: AbortSignal) => ask(client, query, rows, settings, abort)
      return ok(await withDeadline(this.#deps.requestTimeoutMs, signal, work))
    } catch (error) {
      return fail(faultOfError(error))
    }
  }

  dropCredentials(): void {}

  close(): void {
    void this.#client?.close()
  }
}

const accepted = 'The server answers and accepts the user.'

const mayNotInsert = fault('configuration', 'ACCESS_DENIED', 'The user may not insert into the table.')

/** Inserts need no right to look at the table. */
function unlessDenied(found: Fault): Result<Finding, Fault> {
  if (found.code !== 'ACCESS_DENIED') return fail(found)
  const notProved = ['The existence of the table, and the right to insert: the user may not look at it.']
  return ok({ mayWrite: false, proved: [accepted], notProved })
}

/** A line of an answer that may come from any server; computed columns take no insert. */
const columnForm = /^\{"name":"([^"\\]+)"(?!.*"default_type":"(?:MATERIALIZED|ALIAS)")/gm

/** The members of the event that the table has no column for. */
function missingColumns({ data }: PackedEvent, described: string): string[] {
  const columns = new Set([...described.matchAll(columnForm)].map(([, name]) => name))
  return Object.keys(JSON.parse(data.toString()) as object).filter((member) => !columns.has(member))
}

const noColumns = (missing: readonly string[]): Fault =>
  fault('configuration', 'MissingColumns', `The table has no column ${missing.join(', ')}.`)

// --- declaration ---

export const clickhouse = defineDestinationKind({
  name: 'clickhouse',
  title: 'ClickHouse table',
  about: 'INSERT … FORMAT JSONEachRow. An event is a row, with a column for each of its members.',
  address: {
    field: 'url',
    pattern: urlForm.source,
    example: 'https://clickhouse.example.com:8443',
    check: checkUrl,
  },
  options,
  setup: { words: clickhouseWords, forms: [clickhouseForm] },
  advice: clickhouseAdvice,
  limits,
  requestBytes: { max: 64 * mebibyte, default: 8 * mebibyte },
  keepsLineBreak: true,
  open: (config, deps) => new ClickhouseSender(config, deps),
})
