/** Expressions and decisions in a browser are those of Node. */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { anywhere } from '../../../config/bundle-evaluate.mjs'
import { packageFile } from '../../../src/ground/core/package.js'
import { corpusOutcomes } from '../../ground/expr/corpus.js'
import { Generator } from '../../ground/expr/generator.js'
import { noChromium, openBrowser } from '../../harness/browser.js'

const isFull = process.argv.includes('--full')
const seed = 20_261_126
const linesMin = isFull ? 200_000 : 20_000
const textsCount = isFull ? 20_000 : 3_000

const file = packageFile('dist', 'evaluate', 'evaluate.js')
const origin = 'http://weir.test'

/** A page of an origin of its own, with these scripts; nothing is asked of a network. */
async function openPage(t: Test, scripts: Readonly<Record<string, string>>, policy: string): Promise<Page> {
  const browser = await openBrowser()
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  page.setDefaultTimeout(60_000)
  await page.route('**/*', (route) => {
    const path = new URL(route.request().url()).pathname.slice(1)
    if (path === '')
      return route.fulfill({
        contentType: 'text/html',
        headers: policy === '' ? {} : { 'content-security-policy': policy },
        body: '<!doctype html><title>The evaluator</title>',
      })
    const body = scripts[path]
    return body === undefined ? route.abort() : route.fulfill({ contentType: 'text/javascript', body })
  })
  await page.goto(`${origin}/`)
  return page
}

async function bundledCorpus(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: packageFile('.'),
    entryPoints: ['test/ground/expr/corpus.ts'],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    plugins: [anywhere],
    logLevel: 'silent',
  })
  return outputFiles[0]!.text
}

const firstDifference = (one: readonly string[], other: readonly string[]): string | undefined => {
  const index = one.findIndex((line, at) => line !== other[at])
  return index < 0 ? undefined : `${one[index]}\n${other[index]}`
}

t.test('random expressions have the same values, failures and steps', { skip: noChromium }, async (t) => {
  const page = await openPage(t, { 'corpus.js': await bundledCorpus() }, '')
  const there: string[] = await page.evaluate(
    `import('/corpus.js').then(({ corpusOutcomes }) => corpusOutcomes(${linesMin}, ${seed}))`,
  )
  const here = corpusOutcomes(linesMin, seed)
  t.equal(there.length, here.length)
  t.ok(here.length >= linesMin)
  t.equal(firstDifference(here, there), undefined)
})

/** Names of the generator, as policies of requests have them. */
const realNames: Readonly<Record<string, string>> = {
  a: 'conn.server_name',
  b: 'http.request.url.path',
  c: 'http.request.url.query',
  s: 'conn.client_ip',
  n: 'conn.server_port',
  e: 'http.request.user_agent',
  t: 'http.request.method',
  fl: 'conn.client_port',
  arr: "['a', 'x', 'hello']",
  em: 'conn.ip.categories',
  x: 'conn.geo.country_code',
  y: 'conn.asn',
  h: 'http.request.headers',
  missing: "inList(conn.client_ip, 'listed')",
  mixed: 'tls.version',
  k: 'http.request.body_length',
  o: 'conn.geo.city',
}

/** Literals stay. */
const withRealNames = (text: string): string =>
  text.replace(
    /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?<![.\w$])[a-z]+(?![\w$(:])/g,
    (found) => realNames[found] ?? found,
  )

const records = [
  {
    type: 'http_request',
    conn: { client_ip: '10.1.2.3', client_port: 1, server_name: 'a', server_port: 443 },
    http: {
      request: {
        method: 'get',
        url: { path: '/hello', query: 'x=1' },
        user_agent: 'y',
        body_length: 2,
        headers: { k: ['a', 'b'], x: ['1'], host: ['hello'] },
      },
    },
    country: 'DE',
    asn: 3,
  },
  {
    type: 'http_request',
    conn: { client_ip: '2001:db8::1', server_name: 'a', server_port: 443 },
    http: { request: { headers: { y: ['::1'] } } },
  },
]

type Evaluator = typeof import('../../../src/judging/evaluate/portable/evaluate-anywhere.js')

/** The results of each text, as lines. It runs in the page, too: it must use nothing but its arguments. */
async function decisions(
  { compile, explain }: Pick<Evaluator, 'compile' | 'explain'>,
  texts: readonly string[],
  asked: readonly object[],
): Promise<string[]> {
  const lines: string[] = []
  for (const text of texts) {
    const policies = { inbound: [{ expressions: [text], actions: [{ type: 'deny' }] }] }
    try {
      const ip_lists = [{ name: 'listed', category: 'x.hello', entries: ['10.0.0.0/8', '2001:db8::1'] }]
      const compiled = await compile({ https_edges: [{ hostports: ['a:443'], policies }], ip_lists })
      for (const record of asked) lines.push(JSON.stringify([text, explain(compiled, record)]))
    } catch (error) {
      lines.push(JSON.stringify([text, String(error)]))
    }
  }
  return lines
}

const generator = new Generator(seed)
const texts = Array.from({ length: textsCount }, () => withRealNames(generator.text()))
const asked = JSON.stringify([texts, records])

for (const [name, policy, first] of [
  ['the entry point decides alike', '', ''],
  [
    'and where code from texts is forbidden, without a complaint',
    "default-src 'none'; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
    'evaluator.withoutGeneratedCode()',
  ],
] as const)
  t.test(name, { skip: noChromium }, async (t) => {
    const page = await openPage(t, { 'evaluate.js': readFileSync(file, 'utf8') }, policy)
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const there: string[] = await page.evaluate(`import('/evaluate.js').then(async (evaluator) => {
      ${first}
      return (${decisions})(evaluator, ...${asked})
    })`)
    const evaluator = (await import(pathToFileURL(file).href)) as Evaluator
    const here = await decisions(evaluator, texts, records)
    t.equal(there.length, here.length)
    t.equal(firstDifference(here, there), undefined)
    const decided = here.filter((line) => line.includes('"decision":')).length
    const failed = here.filter((line) => line.includes('"failure":')).length
    t.ok(
      decided > textsCount / 2 && failed > 20,
      `${decided} decisions, ${failed} expressions without a result`,
    )
    t.comment(`${texts.length} texts, ${decided} decisions, ${failed} without a result`)
    t.strictSame(complaints, [])
  })
