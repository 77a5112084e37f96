/** The files of the web console: which paths serve its page, from memory, with which headers. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { type FastifyInstance, fastify } from 'fastify'
import t, { type Test } from 'tap'
import { registerConsole, registerPlayground } from '../../../src/management/api/pages/built-pages.js'
import { openTestStore } from '../../harness/api.js'
import { tempDir } from '../../harness/temp-dir.js'

const html = `<!doctype html>
<html lang="en" data-root="{{root}}"><script src="{{root}}console/assets/main-ABCD2345.js"></script></html>
`
const script = `${'console.log(1)\n'.repeat(200)}`

function build(directory: string): void {
  mkdirSync(join(directory, 'assets'), { recursive: true })
  writeFileSync(join(directory, 'index.html'), html)
  writeFileSync(join(directory, 'assets', 'main-ABCD2345.js'), script)
  writeFileSync(join(directory, 'secret.js'), 'not an asset')
}

async function openConsole(t: Test, directory: string): Promise<FastifyInstance> {
  const app = fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  app.setErrorHandler((error: Error & { status?: number }, _request, reply) =>
    reply.code(error.status ?? 500).send(error.message),
  )
  await registerConsole(app, directory)
  return app
}

t.test('the console', async (t) => {
  const directory = tempDir(t)
  build(directory)
  const app = await openConsole(t, directory)

  const pages: [path: string, root: string][] = [
    ['/', './'],
    ['/?at=1', './'],
    ['/console', './'],
    ['/console/', '../'],
    ['/console/live', '../'],
    ['/console/live?filter=a%2Fb', '../'],
    ['/console/edges/edghts_1/policies', '../../../'],
    ['/console/explain/203.0.113.97', '../../'],
  ]
  for (const [path, root] of pages)
    t.test(`the page at ${path}`, async (t) => {
      const { statusCode, headers, payload } = await app.inject(path)
      t.equal(statusCode, 200)
      t.match(payload, `data-root="${root}"`)
      t.match(payload, `src="${root}console/assets/main-ABCD2345.js"`)
      t.match(headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      })
      const policy = String(headers['content-security-policy'])
      for (const directive of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
        "base-uri 'none'",
        "form-action 'self'",
      ])
        t.ok(policy.split(';').includes(directive), `${directive} in ${policy}`)
      t.notMatch(policy, 'unsafe')
    })

  t.test('the page is revalidated', async (t) => {
    const { headers } = await app.inject('/console/live')
    const again = await app.inject({ url: '/console/live', headers: { 'if-none-match': headers['etag'] } })
    t.equal(again.statusCode, 304)
    t.equal(again.payload, '')
    t.equal(again.headers['etag'], headers['etag'])
    t.not((await app.inject('/')).headers['etag'], headers['etag'], 'it refers to other paths')
  })

  t.test('files never change', async (t) => {
    const { statusCode, headers, payload } = await app.inject('/console/assets/main-ABCD2345.js')
    t.equal(statusCode, 200)
    t.equal(payload, script)
    t.match(headers, {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    })
  })

  const codings: [string, string | undefined, ((bytes: Buffer) => Buffer)?][] = [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip;q=0.5, br;q=0', 'gzip', gunzipSync],
    ['deflate', undefined],
    ['', undefined],
  ]
  for (const [accepted, coding, decompress = (bytes: Buffer) => bytes] of codings)
    t.test(`accepted: ${accepted || 'nothing'}`, async (t) => {
      const url = '/console/assets/main-ABCD2345.js'
      const { headers, rawPayload } = await app.inject({ url, headers: { 'accept-encoding': accepted } })
      t.equal(headers['content-encoding'], coding)
      t.equal(decompress(rawPayload).toString(), script)
      t.equal(Number(headers['content-length']), rawPayload.length)
      const head = await app.inject({ method: 'HEAD', url, headers: { 'accept-encoding': accepted } })
      t.equal(head.payload, '')
      t.equal(head.headers['content-length'], headers['content-length'])
      t.equal(head.headers['etag'], headers['etag'])
    })

  t.test('nothing else is served', async (t) => {
    for (const path of [
      '/console/assets/main-ZZZZ2345.js',
      '/console/assets/..%2Fsecret.js',
      '/console/assets/%2e%2e/secret.js',
      '/console/assets/../secret.js',
      '/console/assets/..%2f..%2f..%2fetc%2fpasswd',
      '/console/secret.js',
      '/console/session',
      `/console${'/a'.repeat(20)}`,
      '/console/assets/toString',
    ])
      t.equal((await app.inject(path)).statusCode, 404, path)
  })

  t.test('files are served from memory', async (t) => {
    rmSync(directory, { recursive: true })
    t.equal((await app.inject('/')).statusCode, 200)
    t.equal((await app.inject('/console/assets/main-ABCD2345.js')).payload, script)
  })
})

t.test('a console that is not built says how to build it, and is there once it is', async (t) => {
  const directory = join(tempDir(t), 'console')
  const app = await openConsole(t, directory)
  const missing = await app.inject('/console/live')
  t.equal(missing.statusCode, 503)
  t.match(missing.payload, 'node config/prepare.mjs')
  t.match(missing.headers['content-type'], 'text/plain')
  t.equal((await app.inject('/console/assets/main-ABCD2345.js')).statusCode, 404)
  build(directory)
  t.equal((await app.inject('/console/live')).statusCode, 200)
})

t.test('the playground may load its files, and do nothing else', async (t) => {
  const directory = tempDir(t)
  build(directory)
  const app = fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  await registerPlayground(app, directory)
  for (const [path, root] of [
    ['/playground', './'],
    ['/playground/', '../'],
  ] as const) {
    const { statusCode, headers, payload } = await app.inject(path)
    t.equal(statusCode, 200)
    t.match(payload, `data-root="${root}"`)
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'")
    t.match(policy, "form-action 'none'")
    t.notMatch(policy, 'connect-src')
    t.notMatch(policy, 'unsafe')
  }
  t.equal((await app.inject('/playground/assets/main-ABCD2345.js')).payload, script)
})

t.test('the API serves it at / without a key', async (t) => {
  const api = await (await openTestStore(t)).api()
  const { statusCode, headers } = await api.app.inject('/')
  t.ok([200, 503].includes(statusCode), 'built, or not')
  t.match(headers['content-security-policy'], "frame-ancestors 'none'")
  const unknown = await api.app.inject('/console/assets/nothing-ABCD2345.js')
  t.equal(unknown.statusCode, 404)
  t.match(unknown.json(), { error_code: 'ERR_NOT_FOUND', msg: '/console/assets/nothing-ABCD2345.js' })
})
