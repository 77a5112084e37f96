/** How applications on Node find what a request names. Each is a way that is in use; none is taken for the right one. */
import { createServer, type Server } from 'node:http'
import { posix } from 'node:path'
import { parse } from 'node:url'

/** Undefined if such an application answers with an error. */
type Path = (target: string) => string | undefined

/** A whole URL is no path. */
function sentPath(target: string): string {
  if (/^[a-z]+:\/\//i.test(target)) throw new Error('a URL')
  return target.split('?')[0]!
}

const attempt = (read: () => string | null): string | undefined => {
  try {
    return read() ?? undefined
  } catch {
    return undefined
  }
}

const routers: Readonly<Record<string, Path>> = {
  /** `http.createServer` with a switch over `url`, as a path. */
  raw: (target) => attempt(() => sentPath(target)),
  url: (target) => attempt(() => new URL(target, 'http://localhost').pathname),
  'decoded url': (target) => attempt(() => decodeURIComponent(new URL(target, 'http://localhost').pathname)),
  /** Express and connect, whose routers then decode no part of it. */
  'url.parse': (target) => attempt(() => parse(target).pathname),
  /** Express, whose routers ignore the case of letters. */
  'url.parse in small letters': (target) => attempt(() => parse(target).pathname?.toLowerCase() ?? null),
  decoded: (target) => attempt(() => decodeURIComponent(sentPath(target))),
  'decoded before the query': (target) => attempt(() => sentPath(decodeURIComponent(target))),
  /** Express's server of files. */
  'decoded url.parse': (target) => attempt(() => decodeURIComponent(parse(target).pathname ?? '')),
  /** Fastify, whose router takes what follows a semicolon for the query, and skips the first sign. */
  'cut at a semicolon': (target) => attempt(() => `/${sentPath(target).split(/[;#]/, 1)[0]!.slice(1)}`),
  /** Servers of files. */
  file: (target) => attempt(() => posix.normalize(decodeURIComponent(sentPath(target)))),
  'file of a url': (target) =>
    attempt(() => posix.join('/', decodeURIComponent(new URL(target, 'http://localhost').pathname))),
  /** Behind a proxy that has decoded the path already. */
  'decoded twice': (target) =>
    attempt(() => posix.normalize(decodeURIComponent(decodeURIComponent(sentPath(target))))),
}

/** Policies of the test say that these paths are private. */
const isPrivatePath = (path: string): boolean => /^\/(?:private|admin)\//.test(path) || path === '/secret'

const isPublicPath = (path: string): boolean => path.startsWith('/public/')

/** Answers which routers take the target for something private, or for something that is not public. */
export function openApplication(): Server {
  return createServer((request, response) => {
    const seen = Object.entries(routers).map(([name, read]) => ({ name, path: read(request.url ?? '') }))
    const named = (isServed: (path: string) => boolean) =>
      seen.flatMap(({ name, path }) => (path !== undefined && isServed(path) ? [name] : [])).join()
    response.setHeader('x-private', named(isPrivatePath))
    response.setHeader(
      'x-not-public',
      named((path) => !isPublicPath(path)),
    )
    response.end()
  })
}
