/**
 * What PutRecords and PutRecordBatch share: bodies and answers with hundreds of records, which the SDK's serializers take
 * longer for than for all the rest of a request.
 *
 * - A body is written into one buffer, and replaces the one that the SDK made from an input without records.
 * - An answer that says that no record failed reaches the SDK with the result of the first record alone. All others are
 *   left to the SDK.
 */
import type { BodyPool } from './body-pool.js'
import type { ServiceRecord } from './packing.js'

/** An answer as it comes from the SDK's HTTP handler. */
interface HttpAnswer {
  readonly statusCode: number
  body: AsyncIterable<Buffer> | Buffer
}

interface Args {
  readonly input: object
  /** Present once the input is serialized. */
  readonly request?: unknown
}
type Middleware = <A extends Args, R extends object>(next: (args: A) => Promise<R>) => (args: A) => Promise<R>

/** The part of an SDK client that this file needs. */
interface Client {
  readonly config: {
    readonly requestHandler: {
      handle(
        request: never,
        options: { readonly abortSignal: AbortSignal },
      ): Promise<{ response: HttpAnswer }>
    }
  }
  readonly middlewareStack: {
    add(middleware: Middleware, options: { readonly step: 'build'; readonly priority: 'high' }): void
    add(middleware: Middleware, options: { readonly step: 'deserialize'; readonly priority: 'low' }): void
  }
}

/** What is sent in place of an input's serialization, and until when. */
interface Prepared {
  readonly body: Buffer
  readonly abortSignal: AbortSignal
}

const preparedOf = new WeakMap<object, Prepared>()

/**
 * Returns the input, for which a client of `sendsPrepared` sends this body. Send the command without options: then the
 * client resolves its stack of middleware once (`cacheMiddleware`), otherwise for every request.
 */
export function prepare<I extends object>(input: I, prepared: Prepared): I {
  preparedOf.set(input, prepared)
  return input
}

/** Makes a client send the bodies of `prepare`. `failedCount` names the count of failed records in an answer. */
export function sendsPrepared<C extends Client>(client: C, failedCount: string): C {
  const { middlewareStack, config } = client
  middlewareStack.add(
    (next) => (args) => {
      const prepared = preparedOf.get(args.input)
      if (prepared !== undefined) Object.assign(args.request as object, { body: prepared.body })
      return next(args)
    },
    { step: 'build', priority: 'high' },
  )
  middlewareStack.add(
    (next) => async (args) => {
      const prepared = preparedOf.get(args.input)
      if (prepared === undefined) return next(args)
      const { abortSignal } = prepared
      const result = await config.requestHandler.handle(args.request as never, { abortSignal })
      await shortenAnswer(result.response, failedCount)
      return result as never
    },
    // In place of the last step of the stack, which calls the handler without a signal.
    { step: 'deserialize', priority: 'low' },
  )
  return client
}

async function shortenAnswer(answer: HttpAnswer, failedCount: string): Promise<void> {
  if (answer.statusCode !== 200) return
  const chunks: Buffer[] = []
  for await (const chunk of answer.body as AsyncIterable<Buffer>) chunks.push(chunk)
  answer.body = withFirstResult(Buffer.concat(chunks), failedCount)
}

const comma = 0x2c
const closingBrace = 0x7d

/** The answer without all results but the first, if it says that no record failed. */
export function withFirstResult(answer: Buffer, failedCount: string): Buffer {
  const noneFailed = `"${failedCount}":0`
  const found = answer.indexOf(noneFailed)
  const next = answer[found + noneFailed.length]
  if (found === -1 || (next !== comma && next !== closingBrace)) return answer
  const firstEnd = answer.indexOf('},{')
  const lastEnd = answer.lastIndexOf('}]')
  if (firstEnd === -1 || lastEnd < firstEnd) return answer
  return Buffer.concat([answer.subarray(0, firstEnd), answer.subarray(lastEnd)])
}

/** The names that JSON needs around the data and the key of a record are shorter than this. */
const entryOverheadBytes = 64
/** A character of JSON takes at most six bytes. */
const escapedBytes = 6

/**
 * The body `{<head>,"Records":[…]}`, in a buffer of the pool. `entryOf` returns the JSON of a record, in ASCII. It contains the data of the record
 * in base64, and its partition key at most.
 */
export function recordsBody(
  pool: BodyPool,
  head: string,
  records: readonly ServiceRecord[],
  entryOf: (record: ServiceRecord) => string,
): Buffer {
  let bytesMax = Buffer.byteLength(head) + entryOverheadBytes
  for (const { dataBytes, partitionKeyBytes } of records)
    bytesMax += base64Bytes(dataBytes) + partitionKeyBytes * escapedBytes + entryOverheadBytes
  const body = pool.take(bytesMax)
  let end = body.write(`{${head},"Records":[`)
  for (const record of records) end += body.write(`${entryOf(record)},`, end, 'latin1')
  // Replaces the last comma.
  end += body.write(']}', end - 1) - 1
  return body.subarray(0, end)
}

const base64Bytes = (bytes: number): number => Math.ceil(bytes / 3) * 4

/** Keys are ids: letters, digits and a few other characters. */
const plainKey = /^[\w.:-]*$/
const notAscii = /[^\0-\x7f]/g

/** A text as JSON in ASCII. */
export const asciiJson = (text: string): string =>
  plainKey.test(text)
    ? `"${text}"`
    : JSON.stringify(text).replaceAll(
        notAscii,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
