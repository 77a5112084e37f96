/** The answers to the questions of docs/analysing.md, computed from the decisions themselves: no SQL, no events. */
import type { Fact } from './analysed-traffic.js'

export type Row = Readonly<Record<string, unknown>>

const isStopped = ({ decision }: Fact): boolean => decision !== 'allow'

const count = (facts: readonly Fact[], is: (fact: Fact) => boolean): number => facts.filter(is).length

const distinct = (facts: readonly Fact[], of: (fact: Fact) => unknown): number => new Set(facts.map(of)).size

const sum = (facts: readonly Fact[], of: (fact: Fact) => number): number =>
  facts.reduce((total, fact) => total + of(fact), 0)

function grouped(facts: readonly Fact[], keyOf: (fact: Fact) => unknown, row: (group: Fact[]) => Row): Row[] {
  const groups = new Map<unknown, Fact[]>()
  for (const fact of facts) {
    const group = groups.get(keyOf(fact))
    if (group === undefined) groups.set(keyOf(fact), [fact])
    else group.push(fact)
  }
  return [...groups.values()].map(row)
}

/** `-name`: the largest first. */
function first(rows: readonly Row[], order: readonly string[], limit = Number.POSITIVE_INFINITY): Row[] {
  const compared = (one: Row, other: Row): number => {
    for (const each of order) {
      const name = each.replace('-', '')
      const [a, b] = [one[name] as string, other[name] as string]
      if (a !== b) return (a < b ? -1 : 1) * (each.startsWith('-') ? -1 : 1)
    }
    return 0
  }
  return rows.toSorted(compared).slice(0, limit)
}

const timeText = (ms: number, unitMs: number): string =>
  new Date(Math.floor(ms / unitMs) * unitMs).toISOString().slice(0, 19).replace('T', ' ')
const minute = (ms: number): string => timeText(ms, 60_000)
const times = (facts: readonly Fact[]): number[] => facts.map(({ at }) => at)

/** Interpolated between two values. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  const position = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(position)]!, sorted[Math.ceil(position)]!]
  return low + (high - low) * (position - Math.floor(position))
}

const clientOf = ({ client }: Fact): string => client

export const answers: Readonly<Record<number, (facts: readonly Fact[]) => Row[]>> = {
  1: (facts) => {
    const row = (group: Fact[]) => ({
      country: group[0]!.country,
      stopped: group.length,
      clients: distinct(group, clientOf),
    })
    return first(
      grouped(facts.filter(isStopped), ({ country }) => country, row),
      ['-stopped', 'country'],
      10,
    )
  },
  2: (facts) => {
    const row = (group: Fact[]) => ({
      rule: group[0]!.rule,
      caught: group.length,
      clients: distinct(group, clientOf),
      countries: distinct(
        group.filter(({ country }) => country !== ''),
        ({ country }) => country,
      ),
      first: minute(Math.min(...times(group))),
      last: minute(Math.max(...times(group))),
    })
    const caught = facts.filter(({ rule }) => rule !== '')
    return first(
      grouped(caught, ({ rule }) => rule, row),
      ['-caught', 'rule'],
    )
  },
  3: (facts) => {
    const row = (group: Fact[]) => ({
      decided_by: group[0]!.decidedBy,
      id: group[0]!.decidedById,
      policy: group[0]!.policy,
      stopped: group.length,
    })
    const key = ({ decidedBy, decidedById, policy }: Fact) => `${decidedBy} ${decidedById} ${policy}`
    return first(grouped(facts.filter(isStopped), key, row), ['-stopped', 'id', 'policy'])
  },
  4: (facts) => {
    const row = (group: Fact[]) => {
      const [bytes_in, bytes_out] = [
        sum(group, ({ bytesIn }) => bytesIn),
        sum(group, ({ bytesOut }) => bytesOut),
      ]
      return { client: group[0]!.client, bytes_in, bytes_out, all: bytes_in + bytes_out }
    }
    return first(grouped(facts, clientOf, row), ['-all', 'client'], 10).map(({ all: _, ...rest }) => rest)
  },
  5: (facts) => {
    const hour = ({ at }: Fact) => timeText(at, 3_600_000)
    const row = (group: Fact[]) => ({
      hour: hour(group[0]!),
      decisions: group.length,
      stopped: count(group, isStopped),
    })
    return first(grouped(facts, hour, row), ['hour'])
  },
  6: (facts) => {
    const dayBefore = Math.max(...facts.slice(-1_000).map(({ at }) => at)) - 24 * 3_600_000
    const row = (group: Fact[]) => ({
      asn: group[0]!.asn,
      decisions: group.length,
      stopped: count(group, isStopped),
    })
    const old = new Set(facts.filter(({ at }) => at <= dayBefore).map(({ asn }) => asn))
    const isNew = ({ asn }: Fact) => asn !== undefined && !old.has(asn)
    return first(
      grouped(facts.filter(isNew), ({ asn }) => asn, row),
      ['-decisions', 'asn'],
      20,
    )
  },
  7: (facts) => {
    const row = (group: Fact[]) => ({
      client: group[0]!.client,
      endpoints: distinct(group, ({ endpoint }) => endpoint),
      tries: group.length,
      stopped: count(group, isStopped),
    })
    const many = grouped(facts, clientOf, row).filter(({ endpoints }) => Number(endpoints) > 1)
    return first(many, ['-endpoints', '-tries', 'client'], 10)
  },
  8: (facts) => {
    const row = (group: Fact[]) => ({
      server: group[0]!.server,
      requests: group.length,
      failed: count(group, ({ status = 0 }) => status >= 500),
    })
    const letIn = facts.filter((fact) => fact.type === 'http_request' && !isStopped(fact))
    return first(
      grouped(letIn, ({ server }) => server, row),
      ['-failed', 'server'],
      10,
    )
  },
  9: (facts) => {
    const timed = facts.filter((fact) => !isStopped(fact) && fact.seconds !== undefined)
    const row = (group: Fact[]) => {
      const seconds = group.map((fact) => fact.seconds!)
      return {
        server: group[0]!.server,
        connections: group.length,
        median_seconds: quantile(seconds, 0.5),
        slow_seconds: quantile(seconds, 0.95),
      }
    }
    return first(
      grouped(timed, ({ server }) => server, row),
      ['-slow_seconds', 'server'],
      10,
    )
  },
  10: (facts) => {
    const pathOf = ({ path }: Fact) => path.slice(0, 300)
    const row = (group: Fact[]) => ({
      path: pathOf(group[0]!),
      requests: group.length,
      clients: distinct(group, clientOf),
    })
    const missing = facts.filter(({ status }) => status === 404)
    return first(grouped(missing, pathOf, row), ['-requests', 'path'], 10)
  },
  11: (facts) => {
    const row = (group: Fact[]) => ({
      revision: group[0]!.revision,
      decisions: group.length,
      stopped: count(group, isStopped),
      first: minute(group[0]!.at),
    })
    return first(
      grouped(facts, ({ revision }) => revision, row),
      ['-revision'],
      10,
    )
  },
  12: (facts) => {
    const row = (group: Fact[]) => {
      const stopped = count(group, isStopped)
      return { client: group[0]!.client, let_in: group.length - stopped, stopped }
    }
    const both = grouped(facts, clientOf, row).filter(
      (each) => Number(each.let_in) > 0 && Number(each.stopped) > 0,
    )
    return first(both, ['-stopped', 'client'], 10)
  },
}
