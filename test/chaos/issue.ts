/**
 * The records of a scenario and the events that they must become. Both follow from the seed and the number of the record, so
 * that a judge who has never seen Weir's code can say of every byte that arrives whether it may be there. Two parts of an
 * event are NATS's and the API's, and must be the same in all events of a record, or of a subscription: the time at which
 * the record was stored, and the second part of the id.
 */
import { createHash } from 'node:crypto'

/** Every fourth record is kept back from destinations of the narrow subscription. */
const narrowEvery = 4
export const narrowFilter = 'conn.bytes_out >= 1000'
export const fields = [
  'conn.bytes_in',
  'conn.bytes_out',
  'conn.client_ip',
  'conn.end_ts',
  'conn.server_name',
  'conn.server_port',
]

export const isNarrow = (n: number): boolean => n % narrowEvery !== 0

/** How many of the records 0 … count - 1 get to destinations of the narrow subscription. */
export const narrowOf = (count: number): number => count - Math.ceil(count / narrowEvery)

interface Content {
  readonly client_ip: string
  readonly client_port: number
  readonly server_name: string
  readonly server_port: number
  readonly end_ts: string
  readonly bytes_in: number
  readonly bytes_out: number
}

const eventType = 'tcp_connection_closed.v0'
const eventForm =
  /^\{"event_id":"ev_[0-9a-f]{32}([0-9a-f]{16})","event_type":"[^"]*","event_timestamp":"(\d{4}-[\d-]{5}T[\d:]{8}\.\d{3}Z)"/
const numberForm = /"bytes_in":(\d+),/
const hourMs = 3_600_000

interface EventParts {
  readonly purpose: string
  readonly storedAt: string
}

export class Issue {
  readonly #seed: number
  readonly #name: string
  readonly #fromMs: number

  /** `name`: of the scenario; `fromMs`: the time of the records, on which they don't depend but by this. */
  constructor(seed: number, name: string, fromMs: number) {
    this.#seed = seed
    this.#name = name
    this.#fromMs = Math.floor(fromMs / hourMs) * hourMs
  }

  recordId(n: number): string {
    return `${this.#name}-${n}`
  }

  line(n: number, edgeId: string): string {
    const record = { record_id: this.recordId(n), type: 'tcp_connection', edge_id: edgeId }
    return JSON.stringify({ ...record, conn: this.#content(n) })
  }

  /** The event of a record that was stored at this time. `purpose`: the part of its id that its subscription decides. */
  event(n: number, accountId: string, { purpose, storedAt }: EventParts): string {
    const { client_ip, server_name, server_port, end_ts, bytes_in, bytes_out } = this.#content(n)
    const conn = { bytes_in, bytes_out, client_ip, end_ts, server_name, server_port }
    const id = createHash('sha256').update(this.recordId(n)).digest('hex').slice(0, 32)
    return JSON.stringify({
      event_id: `ev_${id}${purpose}`,
      event_type: eventType,
      event_timestamp: storedAt,
      account_id: accountId,
      object: { conn },
    })
  }

  #content(n: number): Content {
    const drawn = createHash('sha256').update(`${this.#seed}.${this.#name}.${n}`).digest()
    const isKept = isNarrow(n)
    return {
      client_ip: `203.0.${drawn[0]! % 114}.${drawn[1]!}`,
      client_port: drawn.readUInt16BE(2),
      // A letter of two bytes, and characters that JSON escapes.
      server_name: `${drawn.toString('base64', 4, 4 + (drawn[20]! % 12))}-ü"\\.example`,
      server_port: drawn.readUInt16BE(22),
      end_ts: new Date(this.#fromMs + (drawn.readUInt32BE(24) % hourMs)).toISOString().replace('Z', '000Z'),
      bytes_in: n,
      bytes_out: isKept ? 1_000 + drawn.readUInt16BE(28) : drawn[29]!,
    }
  }
}

/** The parts of an event that do not follow from its record. */
export function partsOf(event: string): EventParts | undefined {
  const [, purpose, storedAt] = eventForm.exec(event) ?? []
  return purpose === undefined || storedAt === undefined ? undefined : { purpose, storedAt }
}

/** The number of the record that an event says it is of. */
export function numberIn(event: string): number | undefined {
  const found = numberForm.exec(event)?.[1]
  return found === undefined ? undefined : Number(found)
}
