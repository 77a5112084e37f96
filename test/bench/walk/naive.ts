/** The program a team would write in an afternoon: jexl, ipaddr.js, JSON.stringify. */
import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import { Jexl } from 'jexl'
import type { CountryResponse, Reader } from 'maxmind'
import { closedFields, denies, logs, rules, storedAtMs, subscriptions } from './input.js'

type Connection = Record<string, string | number>
interface Entry {
  readonly record_id: string
  readonly account_id: string
  readonly conn: Connection & { readonly client_ip: string }
}

const inRange = (ip: string, cidr: string): boolean => {
  const address = ipaddr.process(ip)
  const [network, bits] = ipaddr.parseCIDR(cidr)
  return address.kind() === network.kind() && address.match(network, bits)
}

const jexl = new Jexl()
jexl.addTransform('inCidrRange', (ip, cidr) => inRange(String(ip), String(cidr)))
jexl.addTransform('inCidrRanges', (ip, cidrs) =>
  (cidrs as string[]).some((cidr) => inRange(String(ip), cidr)),
)
jexl.addTransform('endsWith', (text, end) => String(text).endsWith(String(end)))

type When = (context: object) => boolean

/** Lexes, parses and evaluates at each call. */
const evalSync = (text: string, context: object): unknown =>
  (jexl as unknown as { evalSync(text: string, context: object): unknown }).evalSync(text, context)

/** How an expression is evaluated: as jexl's first example does it, or compiled beforehand. */
export const evaluators = {
  evalSync:
    (text: string): When =>
    (context) =>
      Boolean(evalSync(text, context)),
  compiled: (text: string): When => {
    const expression = jexl.compile(text)
    return (context) => Boolean(expression.evalSync(context))
  },
}

const compileAll = (evaluator: (text: string) => When) => ({
  denying: denies.map(({ expression }) => evaluator(expression)),
  logging: logs.map(({ name, expression, metadata }) => ({ name, metadata, when: evaluator(expression) })),
  filters: subscriptions.map((subscription) => ({ ...subscription, when: evaluator(subscription.filter) })),
})

const networks = rules.map((rule) => ({
  deny: rule.startsWith('!'),
  cidr: ipaddr.parseCIDR(rule.replace('!', '')),
}))

function isAllowed(ip: string): boolean {
  const address = ipaddr.process(ip)
  const matching = networks.filter(({ cidr }) => address.kind() === cidr[0].kind() && address.match(cidr))
  return matching.length > 0 && matching.every(({ deny }) => !deny)
}

function picked(record: Entry, decision: string): object {
  const object: Record<string, Record<string, unknown>> = {}
  for (const field of closedFields) {
    const [group, name] = field.split('.') as [string, string]
    const value = group === 'conn' ? record.conn[name] : decision
    object[group] = { ...object[group], [name]: value ?? null }
  }
  return object
}

const idOf = (...parts: string[]): string =>
  `ev_${createHash('sha256').update(parts.join('|')).digest('hex').slice(0, 48)}`

/** The layout of DB-IP is flat. */
export type CountryReader = Reader<CountryResponse & { readonly country_code?: string }>

/** Makes the program; it takes messages and gives the bytes of each destination. */
export function openNaive(evaluator: (text: string) => When, geo: CountryReader) {
  const { denying, logging, filters } = compileAll(evaluator)
  return (messages: readonly Buffer[]): Map<string, Buffer> => {
    const lines = new Map<string, string[]>(subscriptions.map(({ destinationId }) => [destinationId, []]))
    for (const line of messages.flatMap((message) => message.toString().split('\n'))) {
      const record = JSON.parse(line) as Entry
      const context = { conn: { ...record.conn, geo: geo.get(record.conn.client_ip) } }
      const decision = isAllowed(record.conn.client_ip) ? 'allow' : 'block'
      const passed = decision === 'allow' && !denying.some((deny) => deny(context))
      const said = passed ? logging.filter(({ when }) => when(context)) : []
      for (const { id, destinationId, when } of filters) {
        const emit = (type: string, object: object, ...purpose: string[]) => {
          const event_id = idOf(record.account_id, record.record_id, type, id, ...purpose)
          const event_timestamp = new Date(storedAtMs).toISOString()
          const event = { event_id, event_type: type, event_timestamp, account_id: record.account_id, object }
          lines.get(destinationId)!.push(`${event_id} ${storedAtMs} ${JSON.stringify(event)}\n`)
        }
        if (when(context)) emit('tcp_connection_closed.v0', picked(record, decision))
        for (const { name, metadata } of said) emit('log.v0', { metadata }, name)
      }
    }
    return new Map([...lines].map(([id, written]) => [id, Buffer.from(written.join(''))]))
  }
}
