/**
 * A thousand clients are decided about alike before and after: by the rules that the other system documents, written down
 * here on their own, and by Weir with the imported file.
 */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { randomNumbers } from '../../../fixtures/random-numbers.mjs'
import { now } from '../../../src/ground/core/clock.js'
import { answerTo } from '../../../src/judging/evaluate/portable/answer.js'
import { compileRead } from '../../../src/judging/evaluate/portable/given-configuration.js'
import { readPolicyFile } from '../../../src/judging/evaluate/portable/policy-file.js'
import { written } from '../../../src/outside/as-code/export.js'
import { Checks } from '../../harness/checks.js'
import { answersOf, importOf, type Json } from './fixtures.js'

const clientsMax = 1_000
const random = randomNumbers(7)
const below = (end: number): number => Math.floor(random() * end)

/** Of the networks that the fixtures are about, and of others. */
const clients = Array.from({ length: clientsMax }, (_, index) => {
  if (index % 8 === 0) return `2001:db8:${['1', '2', '0', '77', 'bad'][below(5)]}::${below(64).toString(16)}`
  if (index % 9 === 0) return `2001:db8::${below(64).toString(16)}`
  return `${['203.0.113', '198.51.100', '192.0.2', '9.9.9'][below(4)]}.${below(256)}`
})

// --- addresses, apart from Weir's ---

interface Range {
  readonly first: bigint
  readonly last: bigint
  readonly bits: number
}

function numberOf(address: string): { value: bigint; bits: number } {
  if (!address.includes(':'))
    return { value: address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n), bits: 32 }
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string): string[] => text.split(':').filter((part) => part !== '')
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)]
  return { value: all.reduce((sum, part) => sum * 65_536n + BigInt(`0x${part}`), 0n), bits: 128 }
}

function rangeOf(text: string): Range {
  const [address = '', prefix] = text.split('/')
  const { value, bits } = numberOf(address)
  const size = 1n << BigInt(bits - Number(prefix ?? bits))
  const first = value - (value % size)
  return { first, last: first + size - 1n, bits }
}

function isIn(client: string, text: string): boolean {
  const [{ value, bits }, range] = [numberOf(client), rangeOf(text)]
  return bits === range.bits && value >= range.first && value <= range.last
}

function overlap(one: string, other: string): boolean {
  const [a, b] = [rangeOf(one), rangeOf(other)]
  return a.bits === b.bits && a.first <= b.last && b.first <= a.last
}

// --- Weir ---

/** As `weir test` evaluates a file. */
async function decider(file: Json): Promise<(record: object) => string> {
  const read = readPolicyFile(written(file))
  if (!read.ok) throw new Error(read.faults.map(({ msg }) => msg).join('\n'))
  const compiled = await compileRead(read.file.configuration)
  return (record) => answerTo(compiled, record, { lookup: () => ({}) }, false).decision
}

const connection = (client: string, hostport: string): object => {
  const [server_name = '', port] = hostport.split(':')
  return { type: 'tcp_connection', conn: { client_ip: client, server_name, server_port: Number(port) } }
}

// --- ngrok ---

interface Ref {
  readonly id: string
}
interface NgrokModule {
  readonly enabled: boolean
  readonly ip_policies: readonly Ref[]
}
interface NgrokRule {
  readonly ip_policy: Ref
  readonly cidr: string
  readonly action: 'allow' | 'deny'
}
interface NgrokAnswers {
  readonly ip_policy_rules: { readonly ip_policy_rules: readonly NgrokRule[] }
  readonly tcp_edges: { readonly tcp_edges: readonly NgrokEdge[] }
  readonly tls_edges: { readonly tls_edges: readonly NgrokEdge[] }
  readonly https_edges: {
    readonly https_edges: readonly (NgrokEdge & { readonly routes: readonly NgrokRoute[] })[]
  }
}
interface NgrokEdge {
  readonly hostports: readonly string[]
  readonly ip_restriction: NgrokModule | null
}
interface NgrokRoute {
  readonly match_type: 'exact_path' | 'path_prefix'
  readonly match: string
  readonly ip_restriction: NgrokModule | null
}

/** A deny rule that matches refuses; otherwise a rule that allows is needed. */
function ngrokAllows(rules: readonly NgrokRule[], module: NgrokModule | null, client: string): boolean {
  if (module?.enabled !== true) return true
  const named = module.ip_policies.map(({ id }) => id)
  const matching = rules.filter(({ ip_policy, cidr }) => named.includes(ip_policy.id) && isIn(client, cidr))
  return !matching.some(({ action }) => action === 'deny') && matching.length > 0
}

/** The action restrict-ips of the fixture: its lists, and those of the policy `partners`, are one set. */
function restrictIpsAllows(rules: readonly NgrokRule[], client: string): boolean {
  const partners = rules.find(({ cidr }) => cidr === '198.51.100.0/25')!.ip_policy.id
  const allowed = rules.filter(({ ip_policy }) => ip_policy.id === partners).map(({ cidr }) => cidr)
  const isAllowed = ['198.51.100.0/24', '2001:db8:1::/48', ...allowed].some((cidr) => isIn(client, cidr))
  return isAllowed && !isIn(client, '198.51.100.64/26')
}

t.test('ngrok: IP policies of edges and of the routes of an HTTPS edge', async (t) => {
  const answers = answersOf<NgrokAnswers>('ngrok')
  const decide = await decider(importOf('ngrok', answers).file as Json)
  const { ip_policy_rules: rules } = answers.ip_policy_rules
  const checks = new Checks()
  const found = new Set<string>()
  const compare = (allowed: boolean, record: object, what: string): void => {
    const decision = decide(record)
    found.add(decision)
    checks.equal(decision === 'allow', allowed, what)
  }
  const edges = [...answers.tcp_edges.tcp_edges, ...answers.tls_edges.tls_edges]
  for (const { hostports, ip_restriction } of edges)
    for (const hostport of hostports.filter((each) => !each.includes('.ngrok.')))
      for (const client of clients) {
        // The traffic policy of the fixture.
        const isDenied = hostport === 'db.example.com:5432' && client === '192.0.2.77'
        const isListed = hostport !== 'queue.example.com:5671' || restrictIpsAllows(rules, client)
        const allowed = ngrokAllows(rules, ip_restriction, client) && isListed && !isDenied
        compare(allowed, connection(client, hostport), `${client} to ${hostport}`)
      }
  const [shop] = answers.https_edges.https_edges
  for (const path of ['/', '/admin', '/admin/users', '/partners/7', '/closed', '/elsewhere'])
    for (const client of clients) {
      const route = shop!.routes.find(({ match_type, match }) =>
        match_type === 'exact_path' ? path === match : path === match || path.startsWith(`${match}/`),
      )
      const record = {
        type: 'http_request',
        conn: { client_ip: client, server_name: 'shop.example.com', server_port: 443 },
        http: { request: { method: 'get', url: { path } } },
      }
      compare(ngrokAllows(rules, route?.ip_restriction ?? null, client), record, `${client} to ${path}`)
    }
  t.same([...found].sort(), ['allow', 'block'], 'both are among them')
  checks.report(t)
})

// --- CrowdSec ---

interface CrowdsecAnswers {
  readonly decisions: readonly {
    readonly scope: string
    readonly type: string
    readonly value: string
    readonly duration: string
    readonly simulated?: boolean
  }[]
  readonly allowlists: readonly {
    readonly items: readonly { readonly value: string; readonly expiration: string }[]
  }[]
}

t.test('CrowdSec: bans without those that overlap with an allowlist', async (t) => {
  const answers = answersOf<CrowdsecAnswers>('crowdsec')
  const { file } = importOf('crowdsec', answers, undefined, now())
  const edge = { hostports: ['x.example.com:22'], ip_restriction: { ip_policy_ids: ['crowdsec'] } }
  const decide = await decider({ ...file, tcp_edges: [edge] })
  const allowed = answers.allowlists
    .flatMap(({ items }) => items)
    .filter(({ expiration }) => expiration.startsWith('0001') || Date.parse(expiration) > now())
  const bans = answers.decisions.filter(
    ({ scope, type, value, duration, simulated }) =>
      ['Ip', 'Range'].includes(scope) &&
      type === 'ban' &&
      simulated !== true &&
      !duration.startsWith('-') &&
      !allowed.some((item) => overlap(item.value, value)),
  )
  const checks = new Checks()
  let banned = 0
  for (const client of clients) {
    const isBanned = bans.some(({ value }) => isIn(client, value))
    if (isBanned) banned += 1
    checks.equal(decide(connection(client, 'x.example.com:22')), isBanned ? 'block' : 'allow', client)
  }
  t.ok(banned > 50 && banned < clientsMax / 2, `${banned} are banned`)
  checks.report(t)
})

// --- lists of Cloudflare ---

interface CloudflareAnswers {
  readonly lists: { readonly result: readonly { readonly id: string; readonly kind: string }[] }
  readonly items: Readonly<Record<string, readonly { readonly result: readonly { readonly ip: string }[] }[]>>
}

t.test('Cloudflare: who is in a list', async (t) => {
  const answers = answersOf<CloudflareAnswers>('cloudflare-lists')
  const { file } = importOf('cloudflare-lists', answers)
  const lists = file['ip_lists'] as readonly { readonly name: string }[]
  const edges = lists.map(({ name }) => ({
    hostports: [`${name}.example.com:22`],
    policies: {
      inbound: [{ expressions: [`inList(conn.client_ip, '${name}')`], actions: [{ type: 'deny' }] }],
    },
  }))
  const decide = await decider({ ...file, tcp_edges: edges })
  const checks = new Checks()
  const found = new Set<string>()
  for (const [index, { id }] of answers.lists.result.filter(({ kind }) => kind === 'ip').entries()) {
    const ranges = answers.items[id]!.flatMap(({ result }) => result.map(({ ip }) => ip))
    for (const client of clients) {
      const isIn_ = ranges.some((range) => isIn(client, range))
      const decision = decide(connection(client, `${lists[index]!.name}.example.com:22`))
      found.add(decision)
      checks.equal(decision, isIn_ ? 'deny' : 'allow', `${client} and ${lists[index]!.name}`)
    }
  }
  t.same([...found].sort(), ['allow', 'deny'], 'both are among them')
  checks.report(t)
})

t.test('the answers are what their program writes', (t) => {
  t.doesNotThrow(() => execFileSync(process.execPath, ['fixtures/generate-imports.mjs', '--check']))
  t.end()
})
