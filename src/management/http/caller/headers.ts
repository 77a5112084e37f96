/** Headers of requests, as they were sent, and the token in one of them. */
import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { badRequest } from '../../../ground/core/errors.js'
import { hashToken } from '../../../ground/core/ids.js'
import { unauthenticated } from '../../access/caller.js'

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

/** The header "Authorization" of a connection's last request, and the hash of its token. */
interface LastToken {
  readonly header: Buffer
  readonly hash: string
}

/**
 * Hashes of bearer tokens. Clients repeat their header with every request of a connection, and to compare it with the last
 * one costs a third of hashing it. A connection's last request, and so its header, is in memory anyway until the next one
 * (`Connections`); both go with the connection. Only the hash is remembered: whether there is a key with it, and what that
 * may do, is looked up for every request. Proxies send requests of many clients on one connection, so the comparison
 * takes constant time.
 */
export class TokenHashes {
  readonly #last = new WeakMap<Socket, LastToken>()

  /** Throws if there is no token. Without one nothing was guessed, so it does not count as a failed login. */
  of(request: FastifyRequest): string {
    const line = onlyHeader(request, 'Authorization') ?? ''
    const header = Buffer.from(line)
    const last = this.#last.get(request.raw.socket)
    if (last?.header.length === header.length && timingSafeEqual(last.header, header)) return last.hash
    const token = /^Bearer +(\S+)\s*$/i.exec(line)?.[1]
    if (token === undefined) throw unauthenticated('The header "Authorization: Bearer <API key>" is needed.')
    const hash = hashToken(token)
    this.#last.set(request.raw.socket, { header, hash })
    return hash
  }
}
