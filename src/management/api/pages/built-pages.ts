/**
 * Pages that `config/` builds, and their files, all from memory: the web console, one page for `/` and every path below
 * `/console`, the playground at `/playground`, and the API reference at `/docs`. Of each there is `index.html`, and
 * `assets/<name>-<hash>.<ext>`. Below `/docs` there is also the page that lines of `GET /doctor` name.
 *
 * A proxy may serve Weir below a path, so the page refers to everything relative to the root of Weir:
 * `src="{{root}}console/assets/console-ABCD1234.js"`. Each answer has the way up from its own path in that place, such as
 * `../../`.
 */
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getOrMake } from '../../../ground/core/maps.js'
import { packageFile } from '../../../ground/core/package.js'
import { browserHeaders } from '../../http/answer-headers.js'
import { nothingThere } from '../../http/guard.js'
import { type FileForm, forever, revalidated, ServedFile, servedOnce } from './served-file.js'

/** A page needs nothing inline and nothing from elsewhere, and no script of it makes HTML or code from a text. */
const contentSecurityPolicy = (allowed: Readonly<Record<string, readonly string[]>>) => ({
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    fontSrc: ["'self'"],
    imgSrc: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
    trustedTypes: ["'none'"],
    ...allowed,
  },
})

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** esbuild's hash of the content: a file with another content has another name. */
const hashedName = /-[A-Z0-9]{8}\.[a-z0-9]+$/
/** A page is at most so deep; each depth is a copy of the page in memory. */
const depthMax = 16

/** Browsers show it as it is. */
const textForm: FileForm = { type: types['.txt']!, caching: revalidated }

const notBuilt = 'The page is not built. Build it with "node config/prepare.mjs", then load it again.\n'

const fileOf = (name: string, bytes: Buffer): ServedFile =>
  new ServedFile(bytes, {
    type: types[extname(name)] ?? 'application/octet-stream',
    caching: hashedName.test(name) ? forever : revalidated,
  })

/** The files that were built, read once. */
class BuiltFiles {
  readonly #page: string
  readonly #assets: ReadonlyMap<string, ServedFile>
  readonly #pages = new Map<number, ServedFile>()

  constructor(page: string, assets: ReadonlyMap<string, ServedFile>) {
    this.#page = page
    this.#assets = assets
  }

  /** The page as it is at this many directories below the root of Weir. */
  page(depth: number): ServedFile {
    const root = depth === 0 ? './' : '../'.repeat(depth)
    return getOrMake(this.#pages, depth, () =>
      fileOf('page.html', Buffer.from(this.#page.replaceAll('{{root}}', root))),
    )
  }

  asset(name: string): ServedFile | undefined {
    return this.#assets.get(name)
  }
}

/** Undefined if it is not built. */
async function readBuilt(directory: string): Promise<BuiltFiles | undefined> {
  try {
    const page = await readFile(join(directory, 'index.html'), 'utf8')
    const names = await readdir(join(directory, 'assets'))
    const read = async (name: string) =>
      [name, fileOf(name, await readFile(join(directory, 'assets', name)))] as const
    return new BuiltFiles(page, new Map(await Promise.all(names.map(read))))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

interface BuiltPage {
  page(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  /** The file with the name that the path ends with. */
  asset(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/** Is this the name of a file? */
const isFileName = (path: string): boolean => extname(path) in types

/**
 * `directory`: what was built; read at the first request, and again until there is something. `allowed`: what the page may
 * do beyond loading its files, as directives of its content security policy.
 */
async function openBuiltPage(
  directory: string,
  allowed: Readonly<Record<string, readonly string[]>>,
): Promise<BuiltPage> {
  const headers = await browserHeaders(contentSecurityPolicy(allowed))
  let reading: Promise<BuiltFiles | undefined> | undefined
  const built = async (): Promise<BuiltFiles | undefined> => {
    reading ??= readBuilt(directory)
    try {
      const found = await reading
      if (found === undefined) reading = undefined
      return found
    } catch (error) {
      reading = undefined
      throw error
    }
  }
  return {
    async page(request, reply) {
      const depth = depthOf(request.url)
      if (depth > depthMax) throw nothingThere(request)
      const found = await built()
      reply.headers(headers)
      if (found === undefined)
        return reply.code(503).header('cache-control', 'no-store').type(types['.txt']!).send(notBuilt)
      return found.page(depth).answer(request, reply)
    },
    async asset(request, reply) {
      const asset = (await built())?.asset(String((request.params as { name: string }).name))
      if (asset === undefined) throw nothingThere(request)
      return asset.answer(request, reply.headers(headers))
    },
  }
}

/** How many directories a path is below the root, as a browser resolves relative references. */
const depthOf = (url: string): number => url.split('?')[0]!.split('/').length - 2

const hidden = { schema: { hide: true }, exposeHeadRoute: true }

/** It asks the API. */
export async function registerConsole(
  app: FastifyInstance,
  directory = dirname(packageFile('dist', 'console', 'index.html')),
): Promise<void> {
  const { page, asset } = await openBuiltPage(directory, {
    connectSrc: ["'self'"],
    formAction: ["'self'"],
  })
  app.get('/', hidden, page)
  app.get('/console', hidden, page)
  app.get('/console/*', hidden, (request, reply) => {
    // A page of the console, unless it is called like a file or is what `exposeHeadRoute` finds for an operation.
    const path = String((request.params as { '*': string })['*'])
    if (isFileName(path) || path === 'session') throw nothingThere(request)
    return page(request, reply)
  })
  app.get('/console/assets/:name', hidden, asset)
}

/** The API reference. It reads the API's document, and sends the requests that someone tries to where it came from. */
export async function registerReference(
  app: FastifyInstance,
  directory = dirname(packageFile('dist', 'reference', 'index.html')),
): Promise<void> {
  const { page, asset } = await openBuiltPage(directory, {
    connectSrc: ["'self'"],
    formAction: ["'none'"],
  })
  app.get('/docs', hidden, page)
  app.get('/docs/', hidden, page)
  app.get('/docs/assets/:name', hidden, asset)
  const about = servedOnce(textForm, () => readFile(join(directory, 'doctor.md'), 'utf8'))
  app.get('/docs/doctor.md', hidden, about)
}

/** Browsers request the icon with every page. */
const iconCaching = 'public, max-age=86400'

export function registerIcon(app: FastifyInstance): void {
  const icon = readFileSync(packageFile('dist', 'programs', 'favicon.ico'))
  app.get('/favicon.ico', hidden, (_request, reply) =>
    reply.header('Cache-Control', iconCaching).type(types['.ico']!).send(icon),
  )
}

/** It asks no one: what is typed there can't leave it. */
export async function registerPlayground(
  app: FastifyInstance,
  directory = dirname(packageFile('dist', 'playground', 'index.html')),
): Promise<void> {
  const { page, asset } = await openBuiltPage(directory, { formAction: ["'none'"] })
  app.get('/playground', hidden, page)
  app.get('/playground/', hidden, page)
  app.get('/playground/assets/:name', hidden, asset)
}
