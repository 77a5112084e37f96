/**
 * Request headers as they were sent. Node keeps only the first line of some headers and joins the lines of others, which
 * would hide that a request carries two different credentials.
 */
import type { FastifyRequest } from 'fastify'
import { badRequest } from '../core/errors.js'

/** The value of each line of a header, in the order of the request. */
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
