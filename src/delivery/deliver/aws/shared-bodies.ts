/**
 * The bodies of PutRecords and PutRecordBatch. Destinations of one subscription send the same records, each to a target of
 * its own. A body therefore begins with its records, and the name of the target follows: the beginning is written once and
 * copied for each destination. Its SHA-256 is computed once, too, and continued with the end of each body. AWS wants it
 * in the signature (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html), and it
 * takes as long as writing the body.
 */
import { createHash, type Hash, hash } from 'node:crypto'
import { after, type Timer } from '../../../ground/core/clock.js'
import { BodyPool, type RecordsBody, recordsBody } from './records-body.js'

/** Do several destinations get the same packs? */
interface PacksOfProcess {
  readonly areShared: boolean
}

/** The input that determines the bytes of a body's records. */
export interface SharedRecords extends RecordsBody {
  /** How the records are made of the events: the same events with an equal layout make equal records. */
  readonly layout: string
}

export interface HashedBody {
  readonly body: Buffer
  /** In hexadecimal digits. */
  readonly sha256: string
}

/** A body that is not shared: what the SDK's serializer writes of an input with these members in the order of its schema. */
export function jsonBody(input: object): HashedBody {
  const body = Buffer.from(JSON.stringify(input))
  return { body, sha256: hash('sha256', body) }
}

/** A body up to the end of its records. */
interface Beginning {
  readonly layout: string
  readonly events: RecordsBody['events']
  readonly bytes: Buffer
  readonly hash: Hash
}

/** Limits all buffers with beginnings: some fifty full requests. Destinations send the same one at about the same time … */
export const sharedBodiesBytesMax = 16 * 1024 * 1024
/** … so that nothing is kept for long. */
const forgetAfterMs = 1_000

export class SharedBodies {
  readonly #packs: PacksOfProcess
  readonly #pool = new BodyPool()
  /** The oldest first. */
  readonly #beginnings: Beginning[] = []
  /** Bytes of the buffers of all of them. */
  #heldBytes = 0
  #idle: Timer | undefined

  /** Without packs, nothing is shared. */
  constructor(packs: PacksOfProcess = { areShared: false }) {
    this.#packs = packs
  }

  /** For one destination. */
  own(): OwnBodies {
    return new OwnBodies((pool, records, target) => this.#write(pool, records, target))
  }

  #write(own: BodyPool, records: SharedRecords, target: string): HashedBody {
    const end = `${target}}`
    if (!this.#packs.areShared) {
      const body = recordsBody(own, records, end)
      return { body, sha256: createHash('sha256').update(body).digest('hex') }
    }
    const { bytes, hash } = this.#find(records) ?? this.#add(records)
    const buffer = own.take(bytes.length + Buffer.byteLength(end))
    const endStart = bytes.copy(buffer)
    const body = buffer.subarray(0, endStart + buffer.write(end, endStart))
    return { body, sha256: hash.copy().update(end).digest('hex') }
  }

  #find({ layout, events }: SharedRecords): Beginning | undefined {
    return this.#beginnings.find((known) => known.layout === layout && areSame(known.events, events))
  }

  #add(records: SharedRecords): Beginning {
    const bytes = recordsBody(this.#pool, records, '')
    const { layout, events } = records
    const added = { layout, events, bytes, hash: createHash('sha256').update(bytes) }
    this.#beginnings.push(added)
    this.#heldBytes += bytes.buffer.byteLength
    while (this.#heldBytes > sharedBodiesBytesMax && this.#beginnings.length > 1) this.#forgetOldest()
    this.#idle?.stop()
    this.#idle = after(forgetAfterMs, () => this.#forgetAll())
    return added
  }

  #forgetOldest(): void {
    const { bytes } = this.#beginnings.shift()!
    this.#heldBytes -= bytes.buffer.byteLength
    this.#pool.giveBack(bytes)
  }

  #forgetAll(): void {
    while (this.#beginnings.length > 0) this.#forgetOldest()
  }
}

type WriteBody = (pool: BodyPool, records: SharedRecords, target: string) => HashedBody

/** The bodies of one destination's requests, in buffers that no other destination's events are ever written to. */
export class OwnBodies {
  readonly #pool = new BodyPool()
  readonly #write: WriteBody

  constructor(write: WriteBody) {
    this.#write = write
  }

  /** The body `{"Records":[…],<target>}`; `target` is one member or several, as JSON. */
  write(records: SharedRecords, target: string): HashedBody {
    return this.#write(this.#pool, records, target)
  }

  /** Only after an answer, which says that the body was read: after an error, it may still be on its way. */
  giveBack({ body }: HashedBody): void {
    this.#pool.giveBack(body)
  }
}

const areSame = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  some.length === others.length && some.every((each, index) => each === others[index])
