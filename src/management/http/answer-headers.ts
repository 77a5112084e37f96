/**
 * The headers of every answer: those that protect browsers, and the id of the operation.
 *
 * An answer that is ready, such as a resource that was shown before, costs less than its headers do: fastify takes one
 * after the other, and Node writes them from an object. So routes for such answers hand Node a list of all headers, most of
 * which was made when the API started.
 */
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'

declare module 'fastify' {
  interface FastifyReply {
    /** The headers that every answer to this request has, for a route that writes its answer itself. */
    commonHeaders(): AnswerHeaders
    /** Answers 200 with JSON that is ready, and no headers besides those of every answer. The route must need a key. */
    sendReadyJson(json: string | Buffer): void
  }
}

export const jsonType = 'application/json; charset=utf-8'

type AnswerHeaders = Readonly<Record<string, string>>

/** Answers are data: a browser must not run or frame them. */
const contentSecurityPolicy = {
  useDefaults: false,
  directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
}

/** Adds them to all answers. A header that a route has set itself stays as it is. */
export async function addAnswerHeaders(app: FastifyInstance): Promise<void> {
  const open = await browserHeaders(contentSecurityPolicy)
  const guarded = { ...open, 'cache-control': 'no-store' }
  const guardedList = Object.entries(guarded).flat()
  const commonOf = ({ id, routeOptions }: FastifyRequest): AnswerHeaders => ({
    ...(routeOptions.config.isOpen ? open : guarded),
    'operation-id': id,
  })
  app.addHook('onSend', (request, reply, _payload, done) => {
    const common = commonOf(request)
    for (const name in common) if (!reply.hasHeader(name)) reply.header(name, common[name])
    done()
  })
  app.decorateReply('commonHeaders', function (this: FastifyReply) {
    return commonOf(this.request)
  })
  app.decorateReply('sendReadyJson', function (this: FastifyReply, json: string | Buffer) {
    const { raw, request } = this
    this.hijack()
    const length = String(Buffer.byteLength(json))
    const own = ['operation-id', request.id, 'content-type', jsonType, 'content-length', length]
    raw.writeHead(200, [...guardedList, ...own])
    raw.end(json)
  })
}

/**
 * The headers that tell browsers not to run, frame or reinterpret what they get: those that helmet recommends, with this
 * content security policy. They depend on nothing else, so they are made once: making them for
 * each answer took about a tenth of the CPU of a read.
 */
export async function browserHeaders(
  contentSecurityPolicy: NonNullable<FastifyHelmetOptions['contentSecurityPolicy']>,
): Promise<AnswerHeaders> {
  const host = fastify()
  await host.register(helmet, { contentSecurityPolicy, hsts: false })
  const made = new Promise<AnswerHeaders>((resolve) => {
    host.get('/', (_request, reply) => {
      resolve(reply.getHeaders() as AnswerHeaders)
      return reply.send()
    })
  })
  await host.inject('/')
  await host.close()
  return made
}
