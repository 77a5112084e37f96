/**
 * `docs/kubernetes.md` and what it leads to: the objects without Helm, the examples for gateways, and each block of the page.
 * Skipped without Go, which builds Helm and kubeconform.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { Helm, helmProgram, manifestsIn, openConforms } from '../harness/helm.js'
import { blocks, pageOf } from './pages.js'

const page = pageOf('docs/kubernetes.md')
const commands = blocks(page, 'sh').flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
const examples = readdirSync('docs/kubernetes')
const exampleText = (name: string): string => readFileSync(`docs/kubernetes/${name}`, 'utf8')

const found = helmProgram()
const program = 'missing' in found ? '' : found.program
const here = { skip: 'missing' in found ? found.missing : false }

t.test('the file without Helm is what the chart renders', here, (t) => {
  const env = { ...process.env, HELM_PROGRAM: program }
  const checked = spawnSync('node', ['config/manifests.mjs', '--check'], { encoding: 'utf8', env })
  t.equal(checked.status, 0, checked.stderr)
  t.end()
})

t.test('objects of examples fit their schemas', here, (t) => {
  const opened = openConforms(t)
  if ('missing' in opened) {
    t.pass('compared', { skip: opened.missing })
    t.end()
    return
  }
  t.strictSame(examples.toSorted(), ['envoy-gateway.yaml', 'traefik.yaml'])
  for (const name of examples) t.equal(opened.conforms(exampleText(name)), undefined, name)
  const wrong = exampleText('envoy-gateway.yaml').replace('failOpen:', 'failsOpen:')
  t.match(opened.conforms(wrong), /failsOpen/, 'a member with a typing error does not')
  const [rules = ''] = blocks(page, 'sh').filter((block) => block.includes('PrometheusRule'))
  const printed = execFileSync('sh', ['-ec', rules.replace(/\| kubectl .*$/m, '; echo "---"')], {
    encoding: 'utf8',
  })
  t.equal(manifestsIn(printed).length, 2)
  t.equal(opened.conforms(printed), undefined, 'alerts as a PrometheusRule')
  t.end()
})

t.test('values of the page are values of the chart', here, (t) => {
  const helm = new Helm(t, program)
  const all = blocks(page, 'yaml').map((block) => parse(block) as object)
  t.ok(all.length >= 4)
  for (const values of all) t.ok(helm.manifests(values).length > 10, JSON.stringify(values).slice(0, 80))
  const installs = commands.filter((line) => /^helm (install|upgrade) /.test(line))
  t.ok(installs.length >= 4)
  for (const line of installs) {
    const options = line.match(/--set(?:-string)? \S+/g)?.flatMap((option) => option.split(' ')) ?? []
    t.ok(helm.template({}, ...options), line)
  }
  t.end()
})

t.test('the Secret of the page has the keys that the chart asks for', here, (t) => {
  const line = commands.find((each) => each.startsWith('kubectl create secret generic weir ')) ?? ''
  const given = [...line.matchAll(/--from-literal=([\w-]+)=/g)].map(([, key]) => key)
  const rendered = new Helm(t, program).template({ nats: { enabled: false }, clickhouse: { enabled: false } })
  const asked = new Set([...rendered.matchAll(/items: \[\{ key: ([\w-]+),/g)].map(([, key]) => key))
  t.strictSame(given.toSorted(), [...asked].toSorted())
  t.end()
})

t.test('examples ask the Service of the chart, where it answers proxies', here, (t) => {
  const services = new Helm(t, program).manifests({}).filter(({ kind }) => kind === 'Service')
  const decide = services.find(({ metadata }) => metadata.name === 'weir-decide')?.['spec']
  t.match(decide?.ports, [{}, { name: 'decide', port: 8081 }])
  const policy = manifestsIn(exampleText('envoy-gateway.yaml')).find(({ kind }) => kind === 'SecurityPolicy')
  const { http, headersToExtAuth } = policy!['spec'].extAuth
  t.strictSame(http.backendRefs, [{ name: 'weir-decide', namespace: 'weir', port: 8081 }])
  t.equal(http.path, '/decide/auth_request')
  for (const header of ['weir-key', 'x-forwarded-for', 'x-forwarded-proto'])
    t.ok(headersToExtAuth.includes(header), header)
  const middlewares = manifestsIn(exampleText('traefik.yaml')).filter(({ kind }) => kind === 'Middleware')
  const { forwardAuth } = middlewares.find(({ metadata }) => metadata.name === 'weir')!['spec']
  const { origin, pathname } = new URL(forwardAuth.address)
  t.equal(`${origin}${pathname}`, 'http://weir-decide.weir:8081/decide/auth_request')
  t.end()
})
