/** Who writes a file for `weir plan` chooses which variables and files it names, and sees none of them in what is printed. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { run } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir } from '../harness/weir.js'

const drawn = () => `Planted-${randomBytes(12).toString('hex')}`
const planted = {
  LONG: drawn(),
  NAME: drawn().toLowerCase(),
  HOST: `${drawn().toLowerCase()}.example.com`,
  SHORT: '§¶',
  KEY_LIKE: `weir_${randomBytes(16).toString('hex')}`,
}
const fileText = `${drawn()}\n${drawn()} "quoted"\nroot:x:0:0:${drawn()}\n`

const placeholders = [...Object.keys(planted).map((name) => `\${env:${name}}`), `\${file:below}`]
const text = fc
  .tuple(fc.constantFrom('', 'a ', 'b-'), fc.constantFrom(...placeholders), fc.constantFrom('', ' c', '.d'))
  .map((parts) => parts.join(''))
const whole = fc.constantFrom(...placeholders)
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 2 })
const common = { id: maybe(text), description: maybe(text), metadata: maybe(text) }

/** Entries whose members are right, wrong by themselves, or refused by the API. */
const entry = fc.oneof(
  fc
    .record({ ...common, rules: maybe(fc.tuple(fc.record({ cidr: text, action: fc.constant('allow') }))) })
    .map((of) => ['ip_policies', of] as const),
  fc.record(common).map((of) => ['ip_policies', of] as const),
  fc.record({ ...common, labels: maybe(fc.record({ a: text })) }).map((of) => ['backends', of] as const),
  fc.record({ ...common, ca_pem: text }).map((of) => ['certificate_authorities', of] as const),
  fc.record({ ...common, domain: text }).map((of) => ['reserved_domains', of] as const),
  fc.record({ ...common, name: text, entries: maybe(fc.tuple(text)) }).map((of) => ['ip_lists', of] as const),
  fc
    .record({
      ...common,
      hostports: maybe(fc.tuple(whole.map((of) => `${of}:443`))),
      policies: maybe(policiesOf()),
    })
    .map((of) => ['https_edges', of] as const),
  fc
    .record({ ...common, public_key: text, ip_policy_ids: maybe(fc.tuple(text)) })
    .map((of) => ['ssh_credentials', of] as const),
  fc
    .record({ description: text, given: fc.record({ type: fc.constant('tcp_connection'), conn: connOf() }) })
    .map((of) => ['policy_tests', { ...of, expect: { decision: 'block' } }] as const),
)

function policiesOf() {
  return text.map((of) => ({ inbound: [{ name: of, expressions: [of], actions: [{ type: 'deny' }] }] }))
}
function connOf() {
  return text.map((server_name) => ({ client_ip: '192.0.2.1', server_name, server_port: 22 }))
}

/** All values in the forms in which they could be repeated. What the account has of a short one from before is shown. */
const { SHORT: _short, ...long } = planted
const secret = [...Object.values(long), ...fileText.trim().split('\n')].flatMap((value) => {
  const lines = [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    value.replace(/.*:/, ''),
  ]
  return lines.map((line) => line.toLowerCase())
})

/** What the account got from files before is found, too, if the file names it. */
const withAll = (section: string, of: object) => ({
  [section]: [of],
  ssh_certificate_authorities: [{ description: 'all', metadata: placeholders.join(' ') }],
})

t.test('no value of a placeholder is printed', async (t) => {
  const weir = await startWeir(tempDir(t), { WEIR_RATE_LIMIT: '0' })
  t.teardown(() => weir.stop())
  const dir = tempDir(t)
  writeFileSync(join(dir, 'below'), fileText)
  const env = { WEIR_API_URL: weir.url, WEIR_API_KEY: weir.token, ...planted }
  const said: Record<string, number> = {}
  const count = (what: string, found: RegExp, output: string) => {
    if (found.test(output)) said[what] = (said[what] ?? 0) + 1
  }
  const check = async (file: string, ...args: string[]): Promise<void> => {
    const running = run('programs/main.js', [...args, file], env)
    await running.ended
    const output = running.output()
    const found = secret.filter((value) => output.toLowerCase().includes(value))
    if (found.length > 0) t.fail(`${args.join(' ')} printed ${found.join(', ')}`, { file, output })
    count('names', /^[+~] \w+ {2}.*(env|file):/m, output)
    count('faults', /\.yaml:\d+:\d+: /, output)
    count('refusals', /would refuse it now|weir: /, output)
    count('placeholders', /\$\{(env|file):/, output)
    count('done', /differences are done/, output)
  }
  const entries = [
    ['ip_policies', { description: 'partners', metadata: `\${env:LONG} \${file:below}` }] as const,
    ['ip_policies', { id: 'x', description: `\${env:SHORT}` }] as const,
    ...fc.sample(entry, 10),
  ]
  for (const [index, [section, of]] of entries.entries()) {
    const file = join(dir, `${index}.yaml`)
    writeFileSync(file, JSON.stringify(withAll(section, of)))
    const how = [[], ['--json'], ['--markdown', '--tests'], ['--try', '1h', '--json']][index % 4]!
    await check(file, 'plan', ...how)
    await check(file, 'apply')
    // What the account has got by now is found in what is there before.
    const metadata = `other ${of.description ?? of.metadata ?? ''}`
    writeFileSync(file, JSON.stringify(withAll(section, { ...of, metadata })))
    await check(file, 'plan', ...how)
  }
  for (const what of ['names', 'faults', 'refusals', 'placeholders', 'done'])
    t.ok(said[what], `${what} were printed`)
})
