import { compileCidr, parseCidr } from '../../../src/ground/core/address/cidr.js'
import type { Result } from '../../../src/ground/core/errors.js'
import {
  type CompiledExpression,
  compileExpression,
  compileToInstruction,
} from '../../../src/ground/expr/expression.js'
import { type Operation, StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope, type ScopeName } from '../../../src/ground/expr/scope.js'
import { seededRandom } from '../../ground/expr/generator.js'
import { compileReference } from '../../ground/expr/reference.js'
import { type BenchRow, type BenchTools, type Contender, geometricMean } from '../bench.js'

interface Tag {
  readonly k: string
  readonly v: string
}

interface Context {
  readonly conn: {
    readonly client_ip: string
    readonly server_name: string
    readonly server_port: number
    readonly bytes_in: number
    readonly asn: number
    readonly geo: { readonly country_code: string }
  }
  readonly http: { readonly method: string; readonly headers: Readonly<Record<string, string>> }
  readonly tags: readonly Tag[]
}

const text = (read: (context: Context) => unknown): ScopeName<Context> => ({ type: 'string', read })
const number = (read: (context: Context) => unknown): ScopeName<Context> => ({ type: 'number', read })

const scope = defineScope<Context>({
  names: {
    'conn.client_ip': text(({ conn }) => conn.client_ip),
    'conn.server_name': text(({ conn }) => conn.server_name),
    'conn.server_port': number(({ conn }) => conn.server_port),
    'conn.bytes_in': number(({ conn }) => conn.bytes_in),
    'conn.asn': number(({ conn }) => conn.asn),
    'conn.geo.country_code': text(({ conn }) => conn.geo.country_code),
    'http.method': text(({ http }) => http.method),
    'http.headers': { type: 'any', read: ({ http }) => http.headers },
    tags: { type: 'any', read: (context) => context.tags },
  },
})

function inRange(range: string): (address: unknown) => boolean {
  const cidr = parseCidr(range, { hostBits: 'allow' })
  if (!cidr.ok) throw new Error(cidr.problem.msg)
  return compileCidr(cidr.value)
}

const inTen = inRange('10.0.0.0/8')
const inDocumentation = inRange('2001:db8::/32')

const twentyTests = Array.from({ length: 20 }, (_, index) =>
  index % 4 === 3
    ? `conn.asn == ${64500 + index}`
    : `conn.server_name == '${'qrstuvwxyz'[index % 10]}${index}.example.com'`,
).join(' || ')

/** The expressions, each with the JavaScript that a person would write for it. */
const cases: readonly { readonly expression: string; readonly byHand: (context: Context) => unknown }[] = [
  {
    expression: "conn.geo.country_code in ['US','CA'] && conn.server_port == 22",
    byHand: ({ conn }) =>
      (conn.geo.country_code === 'US' || conn.geo.country_code === 'CA') && conn.server_port === 22,
  },
  { expression: "conn.client_ip|inCidrRange('10.0.0.0/8')", byHand: ({ conn }) => inTen(conn.client_ip) },
  {
    expression: "inCidrRange(conn.client_ip, '2001:db8::/32')",
    byHand: ({ conn }) => inDocumentation(conn.client_ip),
  },
  {
    expression: "conn.bytes_in > 1000 ? conn.server_name == 'a.example.com' : false",
    byHand: ({ conn }) => (conn.bytes_in > 1000 ? conn.server_name === 'a.example.com' : false),
  },
  { expression: twentyTests, byHand: twentyTestsByHand },
  {
    expression:
      "http.headers['user-agent'] in ['curl/8.5.0','kube-probe/1.29','x','y','z','w'] && http.method != 'GET'",
    byHand: ({ http }) => agents.has(http.headers['user-agent']!) && http.method !== 'GET',
  },
  {
    expression: "tags[.k == 'env'].v == 'prod'",
    byHand: ({ tags }) => tags.find((tag) => tag.k === 'env')?.v === 'prod',
  },
]

const agents = new Set(['curl/8.5.0', 'kube-probe/1.29', 'x', 'y', 'z', 'w'])

function twentyTestsByHand({ conn: { server_name: name, asn } }: Context): boolean {
  return (
    name === 'q0.example.com' ||
    name === 'r1.example.com' ||
    name === 's2.example.com' ||
    asn === 64503 ||
    name === 'u4.example.com' ||
    name === 'v5.example.com' ||
    name === 'w6.example.com' ||
    asn === 64507 ||
    name === 'y8.example.com' ||
    name === 'z9.example.com' ||
    name === 'q10.example.com' ||
    asn === 64511 ||
    name === 's12.example.com' ||
    name === 't13.example.com' ||
    name === 'u14.example.com' ||
    asn === 64515 ||
    name === 'w16.example.com' ||
    name === 'x17.example.com' ||
    name === 'y18.example.com' ||
    asn === 64519
  )
}

function makeContexts(count: number): Context[] {
  const random = seededRandom(42)
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!
  const ipv4 = () => `${random() < 0.25 ? 10 : 1 + below(223)}.${below(256)}.${below(256)}.${below(256)}`
  const ipv6 = () =>
    `${random() < 0.4 ? '2001:db8' : '2a01:4f8'}:${below(65536).toString(16)}::${below(65536).toString(16)}`
  const context = (): Context => ({
    conn: {
      client_ip: random() < 0.7 ? ipv4() : ipv6(),
      server_name: `${pick([...'abcdefghijklmnop'])}.example.com`,
      server_port: pick([22, 80, 443, 443, 8443]),
      bytes_in: below(20_000),
      asn: pick([13335, 15169, 64503, 64519]),
      geo: { country_code: pick(['US', 'CA', 'DE', 'FR', 'BR', 'JP']) },
    },
    http: {
      method: pick(['GET', 'GET', 'POST']),
      headers: {
        host: 'a.example.com',
        'user-agent': pick(['curl/8.5.0', 'Go-http-client/2.0', 'kube-probe/1.29']),
      },
    },
    tags: [
      { k: 'env', v: pick(['prod', 'dev']) },
      { k: 'team', v: pick(['a', 'b']) },
    ],
  })
  // As records are: read from JSON, none of them sharing a text with another.
  return Array.from({ length: count }, () => JSON.parse(JSON.stringify(context())) as Context)
}

const compiledOf = (expression: string): CompiledExpression<Context> =>
  valid(expression, compileExpression(expression, scope))

function valid<T>(expression: string, compiled: Result<T>): T {
  if (!compiled.ok) throw new Error(`${expression}: ${compiled.problem.msg}`)
  return compiled.value
}

/** Counts true results, so that no compiler can leave the work out. */
const sink = { found: 0 }

function batch(contexts: readonly Context[], isTrue: (context: Context) => unknown): () => number {
  return () => {
    for (const context of contexts) if (isTrue(context)) sink.found++
    return contexts.length
  }
}

/** As many expressions, every constant in them different. */
function distinct(count: number): string[] {
  const shapes = [
    (n: number) => `conn.geo.country_code in ['C${n}','D${n}'] && conn.server_port == ${n}`,
    (n: number) => `conn.client_ip|inCidrRange('10.${(n >> 8) & 255}.${n & 255}.0/24')`,
    (n: number) => `conn.bytes_in > ${n} ? conn.server_name == '${n}.example.com' : false`,
    (n: number) => `conn.server_name == 'q${n}.example.com' || conn.asn == ${n} || conn.server_port == ${n}`,
    (n: number) => `http.headers['user-agent'] in ['a${n}','b${n}','c${n}'] && http.method != 'GET'`,
  ]
  return Array.from({ length: count }, (_, n) => shapes[n % shapes.length]!(n))
}

/** A list of expressions as policies hold theirs: for each, its words with this one, and its instruction. */
function listOf(expressions: readonly string[]): readonly unknown[] {
  const list: unknown[] = []
  for (const expression of expressions) {
    const instruction = valid(expression, compileToInstruction(expression, scope))
    list.push(1 + instruction.length, ...instruction)
  }
  return list
}

async function compareSeven(bench: BenchTools, contexts: readonly Context[]) {
  const times: { ours: number; jexl: number; byHand: number }[] = []
  const few = contexts.slice(0, 64)
  for (const { expression, byHand } of cases) {
    const compiled = compiledOf(expression)
    const reference = compileReference(expression)
    const budget = new StepBudget()
    const isTrue = (context: Context): boolean => {
      budget.reset()
      return compiled.isTrue(context, budget)
    }
    times.push(
      await bench.compare({
        ours: batch(contexts, isTrue),
        jexl: batch(few, (context) => reference.evalSync(context)),
        byHand: batch(contexts, byHand),
      }),
    )
  }
  return times
}

/** Ten expressions and 5,000: lists of instructions as of policies, and functions as of filters. */
async function compareCounts(bench: BenchTools, contexts: readonly Context[]) {
  const budget = new StepBudget()
  const inList = (expressions: readonly string[], records: readonly Context[]): Contender => {
    const list = listOf(expressions)
    return () => {
      for (const context of records) {
        budget.reset()
        for (let at = 0; at < list.length; at += list[at] as number)
          if ((list[at + 1] as Operation<Context>)(context, budget, list, at + 1)) sink.found++
      }
      return records.length * expressions.length
    }
  }
  const asFunctions = (expressions: readonly string[], records: readonly Context[]): Contender => {
    const compiled = expressions.map(compiledOf)
    return () => {
      for (const context of records) {
        budget.reset()
        for (const expression of compiled) if (expression.isTrue(context, budget)) sink.found++
      }
      return records.length * expressions.length
    }
  }
  const few = contexts.slice(0, 16)
  return await bench.compare({
    ten: inList(distinct(10), contexts),
    fiveThousand: inList(distinct(5000), few),
    tenFunctions: asFunctions(distinct(10), contexts),
    fiveThousandFunctions: asFunctions(distinct(5000), few),
  })
}

/** Room for more contenders (a CEL package) is in `compareSeven`. */
export const row: BenchRow = {
  name: 'expressions',
  inCi: true,
  mustReach:
    "100 × jexl's compiled evalSync, at most 2 × hand-written JavaScript, 5,000 distinct ones 2.5 × the cost of 10",
  async run(bench) {
    const contexts = makeContexts(1024)
    const seven = await compareSeven(bench, contexts)
    const counts = await compareCounts(bench, contexts)
    const perExpression = seven.flatMap(({ ours, jexl, byHand }, index) => [
      [`expression ${index + 1}`, ours],
      [`expression ${index + 1}, jexl`, jexl],
      [`expression ${index + 1}, by hand`, byHand],
    ])
    return {
      measures: [
        {
          name: 'faster than jexl (geometric mean)',
          ratio: geometricMean(seven.map(({ ours, jexl }) => jexl / ours)),
          bound: { atLeast: 100 },
        },
        {
          name: 'slower than by hand (geometric mean)',
          ratio: geometricMean(seven.map(({ ours, byHand }) => ours / byHand)),
          bound: { atMost: 2 },
        },
        {
          name: '5,000 distinct expressions to 10',
          ratio: counts.fiveThousand / counts.ten,
          bound: { atMost: 2.5 },
        },
      ],
      nsPerOperation: {
        ...Object.fromEntries(perExpression),
        '10 expressions': counts.ten,
        '5,000 expressions': counts.fiveThousand,
        '10 expressions, as functions': counts.tenFunctions,
        '5,000 expressions, as functions': counts.fiveThousandFunctions,
      },
    }
  },
}
