/** Whatever another system answers: each item of it is in the report once, and what is written can be read. */
import fc from 'fast-check'
import t from 'tap'
import { StartFault } from '../../../src/ground/core/errors.js'
import { readPolicyFile } from '../../../src/judging/evaluate/portable/policy-file.js'
import { imported, importedSystems } from '../../../src/outside/import/import.js'
import { answersOf, importOf, type Json, textOf } from './fixtures.js'

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== '' &&
  !(typeof value === 'object' && Object.keys(value).length === 0)
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** The places of the items, found apart from the importer. */
const placesIn: Readonly<Record<Parameters<typeof importOf>[0], (value: never) => string[]>> = {
  ngrok: ngrokPlaces,
  crowdsec: (value: { decisions: unknown[]; allowlists: unknown[] }) => [
    ...value.decisions.map((_, index) => `decisions[${index}]`),
    ...value.allowlists.flatMap((list, index) => [
      `allowlists[${index}]`,
      ...listOf(memberOf(list, 'items')).map((_, item) => `allowlists[${index}].items[${item}]`),
    ]),
  ],
  'cloudflare-lists': (value: {
    lists: { result: unknown[] }
    items: Record<string, { result: unknown[] }[]>
  }) => [
    ...value.lists.result.map((_, index) => `lists.result[${index}]`),
    ...Object.entries(value.items).flatMap(([id, pages]) =>
      pages.flatMap(({ result }, page) => result.map((_, index) => `items.${id}[${page}].result[${index}]`)),
    ),
  ],
  outpost: (value: unknown[]) =>
    value.flatMap((each, index) => [
      `[${index}]`,
      ...(isObject(each) ? outpostParts(each).map((part) => `[${index}].${part}`) : []),
    ]),
}

function outpostParts(destination: Json): string[] {
  const { topics, filter } = destination
  const isList = Array.isArray(topics) && topics.length > 0
  return [
    ...(isList ? topics.map((_: unknown, index: number) => `topics[${index}]`) : ['topics']),
    ...(isSet(filter) ? ['filter'] : []),
  ]
}

const modules = [
  ...[
    'backend',
    'ip_restriction',
    'policies',
    'policy',
    'traffic_policy',
    'mutual_tls',
    'tls_termination',
    'oauth',
  ],
  ...['oidc', 'saml', 'user_agent_filter', 'webhook_verification', 'circuit_breaker', 'compression'],
  ...['request_headers', 'response_headers', 'websocket_tcp_converter'],
]

function ngrokPlaces(value: Json): string[] {
  return Object.entries(value).flatMap(([name, answer]) => {
    const [list = ''] = Object.keys(answer as Json)
    const entries = listOf(memberOf(answer, list))
    return entries.flatMap((entry, index) => partsOf(entry, `${name}.${list}[${index}]`, list))
  })
}

function partsOf(entry: unknown, place: string, list: string): string[] {
  const isEdge = list.endsWith('_edges')
  const own = isEdge && isObject(entry) ? modules.filter((name) => isSet(entry[name])) : []
  const known =
    list === 'https_edges' ? own.filter((name) => ['mutual_tls', 'tls_termination'].includes(name)) : own
  const routes = list === 'https_edges' ? listOf(memberOf(entry, 'routes')) : []
  const sources = list === 'event_subscriptions' ? listOf(memberOf(entry, 'sources')) : []
  return [
    place,
    ...known.map((name) => `${place}.${name}`),
    ...routes.flatMap((route, index) => partsOf(route, `${place}.routes[${index}]`, 'route_edges')),
    ...sources.map((_, index) => `${place}.sources[${index}]`),
  ]
}

/** Somewhere below the lists, something else. */
function change(value: unknown, steps: readonly number[], other: unknown, depth = 0): unknown {
  const [step = 0, ...rest] = steps
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0 || steps.length === 0)
    return other
  const keys = Object.keys(value)
  const key = keys[step % keys.length]!
  const changed = change((value as Json)[key], rest, other, depth + 1)
  if (Array.isArray(value))
    return value.map((each: unknown, index) => (String(index) === key ? changed : each))
  return { ...value, [key]: changed }
}

/** How deep the elements of the lists are. */
const depths = { ngrok: 3, crowdsec: 2, 'cloudflare-lists': 3, outpost: 1 }

for (const system of ['ngrok', 'crowdsec', 'cloudflare-lists', 'outpost'] as const)
  t.test(`${system}: each item has one line, also if something in it is unexpected`, (t) => {
    const steps = fc.array(fc.nat(30), { minLength: depths[system] + 1, maxLength: depths[system] + 5 })
    const other = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>(null, '', [], {}, '*', 'ban', '10.0.0.0/8'),
    )
    const changes = fc.array(fc.tuple(steps, other), { maxLength: 12 })
    let refusals = 0
    fc.assert(
      fc.property(changes, (all) => {
        const value = all.reduce<unknown>((before, [at, what]) => change(before, at, what), answersOf(system))
        let result: ReturnType<typeof importOf>
        try {
          result = importOf(system, value)
        } catch (error) {
          // The lists themselves can't be read, or a page is missing.
          if (!(error instanceof StartFault)) throw error
          refusals += 1
          return
        }
        const places = result.report.map(({ place }) => place).sort()
        const wanted = placesIn[system](value as never).sort()
        if (JSON.stringify(places) !== JSON.stringify(wanted))
          throw new Error(
            `${places.filter((each) => !wanted.includes(each))} / ${wanted.filter((each) => !places.includes(each))}`,
          )
        for (const { place, outcome, notes, became } of result.report) {
          if (outcome !== 'taken' && notes.length === 0) throw new Error(`${place} has no word`)
          if ((outcome === 'not_taken') !== (became === null)) throw new Error(`${place} became ${became}`)
        }
        const read = readPolicyFile(textOf(result))
        if (!read.ok) throw new Error(read.faults.map(({ msg }) => msg).join('\n'))
      }),
      { numRuns: 200 },
    )
    t.ok(refusals < 150, `${refusals} of 200 could not be read`)
    t.end()
  })

for (const system of Object.keys(placesIn) as (keyof typeof placesIn)[])
  t.test(`${system}: each item is counted once, of those that are known`, (t) => {
    const counted: (readonly [number, number])[] = []
    const progressed = (done: number, of: number) => counted.push([done, of])
    const documents = [{ name: '', value: answersOf(system) }]
    imported(importedSystems[system]!, documents, { atMs: 0, nowMs: 0, progressed })
    const of = counted.length
    t.ok(of > 3, `${of} items`)
    t.strictSame(
      counted.map(([done]) => done),
      Array.from({ length: of }, (_, index) => index + 1),
    )
    t.ok(counted.every(([done, known]) => done <= known && known <= of))
    t.strictSame(counted.at(-1), [of, of])
    t.end()
  })
