/** Headers of requests, as they were sent, and those of answers that protect browsers. */
import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import { type FastifyRequest, fastify } from 'fastify'
import { badRequest } from '../../../ground/core/errors.js'

/**
 * The value of each line of a header, in the order of the request. Node keeps only the first line of some headers and joins
 * the lines of others, which would hide that a request carries two different credentials.
 */
export function headerLines({ raw: { rawHeaders } }: FastifyRequest, name: string): string[] {
  const wanted = name.toLowerCase()
  const lines: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at]!
    // Every request gets here several times, and most names differ in their lengths already.
    if (given.length === wanted.length && given.toLowerCase() === wanted) lines.push(rawHeaders[at + 1]!)
  }
  return lines
}

/** The value of a header that may occur only once. */
export function onlyHeader(request: FastifyRequest, name: string): string | undefined {
  const lines = headerLines(request, name)
  if (lines.length > 1)
    throw badRequest(`The header "${name}" is given ${lines.length} times: once is allowed.`)
  return lines[0]
}

type BrowserHeaders = Readonly<Record<string, string>>

/**
 * The headers that tell browsers not to run, frame or reinterpret what they get: those that helmet recommends, with this
 * content security policy. They depend on nothing else, so they are made once: making them for
 * each answer took about a tenth of the CPU of a read.
 */
export async function browserHeaders(
  contentSecurityPolicy: NonNullable<FastifyHelmetOptions['contentSecurityPolicy']>,
): Promise<BrowserHeaders> {
  const host = fastify()
  await host.register(helmet, { contentSecurityPolicy, hsts: false })
  const made = new Promise<BrowserHeaders>((resolve) => {
    host.get('/', (_request, reply) => {
      resolve(reply.getHeaders() as BrowserHeaders)
      return reply.send()
    })
  })
  await host.inject('/')
  await host.close()
  return made
}
