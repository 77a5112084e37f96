/**
 * Common parts of PutRecords and PutRecordBatch: bodies and answers with hundreds of records, which the SDK's serializers
 * take longer for than for all the rest of a request.
 *
 * - A body is written without the SDK, and replaces the one that it made from an input without records.
 * - An answer that says that no record failed reaches the SDK with the result of the first record alone. All others are
 *   left to the SDK.
 */
import type { Readable } from 'node:stream'
import type { HashedBody } from './shared-bodies.js'

/** A request as it goes to the SDK's signer. */
interface HttpRequest {
  readonly headers: Record<string, string>
  body: unknown
}

/** An answer as it comes from the SDK's HTTP handler. */
interface HttpAnswer {
  readonly statusCode: number
  body: Readable | Buffer
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

/** The body that is sent in place of an input's serialization, unless aborted. */
interface Prepared extends HashedBody {
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
      if (prepared !== undefined) replaceBody(args.request as HttpRequest, prepared)
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

/** The SDK signs the hash that this header says, and computes none. */
function replaceBody(request: HttpRequest, { body, sha256 }: HashedBody): void {
  request.body = body
  request.headers['x-amz-content-sha256'] = sha256
}

async function shortenAnswer(answer: HttpAnswer, failedCount: string): Promise<void> {
  if (answer.statusCode !== 200) return
  answer.body = withFirstResult(await bytesOf(answer.body as Readable), failedCount)
}

/** Reads all bytes in a third of the time of an async iteration, which counts for hundreds of answers a second. */
const bytesOf = (body: Readable): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    body
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => resolve(Buffer.concat(chunks)))
      .on('error', reject)
      .on('close', () => reject(Object.assign(new Error('The answer was cut off.'), { code: 'ECONNRESET' })))
  })

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
