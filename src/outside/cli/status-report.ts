/** `weir status`: whether all is well, in about ten lines. */
import { messageOf } from '../../ground/core/errors.js'
import { forTerminal } from '../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../ground/core/text/times.js'
import type { Client } from '../../words/client/client.js'
import type { Change } from '../../words/shape/decisions/change-schema.js'
import type { OverviewAnswer } from '../../words/shape/overview.js'
import type { Stats } from '../../words/shape/stats.js'

/** More are counted only. */
const sentencesMax = 5

/** Why a part is not known, such as while ClickHouse is away. */
interface Unknown {
  readonly unknown: string
}

/** Sums of the last 24 hours. */
interface Sums {
  readonly allow: number
  readonly block: number
  readonly deny: number
  readonly since: string
}

export interface State extends OverviewAnswer {
  readonly decisions: Sums | Unknown
  readonly last_change: Change | Unknown | null
}

type Reader = Pick<Client, 'overview' | 'stats' | 'changes'>

/** Prints the state; resolves with whether all is well. */
export async function showStatus(
  client: Reader,
  { json }: { readonly json?: true },
  print: (text: string) => void,
): Promise<boolean> {
  const state = await stateOf(client)
  print(json ? JSON.stringify(state) : forTerminal(statusText(state)))
  return state.state === 'ok'
}

async function stateOf(client: Reader): Promise<State> {
  const [overview, decisions, last_change] = await Promise.all([
    client.overview(),
    client.stats({ since: '24h', interval: 'hour' }).then(sumsOf, whyNot),
    client
      .changes({ limit: 1 })
      .next()
      .then(({ value }) => value ?? null, whyNot),
  ])
  return { ...overview, decisions, last_change }
}

const whyNot = (error: unknown): Unknown => ({ unknown: messageOf(error) })

function sumsOf({ counts, since, reached_at }: Stats): Sums {
  const sum = (of: 'allow' | 'block' | 'deny') => counts.reduce((total, each) => total + each[of], 0)
  return { allow: sum('allow'), block: sum('block'), deny: sum('deny'), since: reached_at ?? since }
}

const number = (value: number): string => value.toLocaleString('en-US')

export function statusText(state: State): string {
  const { attention, attention_left_out, unknown } = state
  const [worst] = attention
  // The sentence of the whole is that of the worst, unless all is well.
  const others = worst?.sentence === state.sentence ? attention.slice(1) : attention
  const left = Math.max(0, others.length - sentencesMax) + attention_left_out
  const rows = [
    [state.state, state.sentence],
    ...others.slice(0, sentencesMax).map(({ severity, sentence }) => [severity, sentence]),
    ...(left === 0 ? [] : [['', `and ${number(left)} more: weir status --json has all that is known`]]),
    ...unknown.map(({ part, reason }) => ['not known', `${part}: ${reason}`]),
    ['decisions', decisionsText(state.decisions)],
    ['destinations', destinationsText(state)],
    ['records', lagText(state)],
    ['last change', changeText(state.last_change)],
    ['as of', state.as_of],
  ]
  return rows
    .map(([name = '', text = '']) => `${name.padEnd(12)}  ${sentenceForTerminal(text)}`.trimEnd())
    .join('\n')
}

function decisionsText(decisions: Sums | Unknown): string {
  if ('unknown' in decisions) return `not known: ${decisions.unknown}`
  const { allow, block, deny, since } = decisions
  return `${number(allow)} allowed, ${number(block)} blocked, ${number(deny)} denied since ${since}`
}

/** Those that work are counted; each other is named by its state. */
function destinationsText({ destinations, destinations_left_out }: State): string {
  if (destinations.length === 0) return 'none'
  const states = new Map<string, number>()
  let events = 0
  for (const { status } of destinations) {
    states.set(status.state, (states.get(status.state) ?? 0) + 1)
    events += status.backlog.events
  }
  const counted = [...states].map(([name, count]) => `${number(count)} ${name}`)
  const others = destinations_left_out === 0 ? [] : [`${number(destinations_left_out)} more, not worse`]
  return `${[...counted, ...others].join(', ')}; ${number(events)} events wait`
}

function lagText({ records_lag }: State): string {
  if (records_lag === null) return 'not known: NATS does not answer'
  const { messages, oldest_at } = records_lag
  if (messages === 0) return 'none wait'
  return `${number(messages)} messages wait${oldest_at === null ? '' : `, the oldest since ${oldest_at}`}`
}

function changeText(change: Change | Unknown | null): string {
  if (change === null) return 'none'
  if ('unknown' in change) return `not known: ${change.unknown}`
  const { changed_at, verb, kind, id, by, by_description } = change
  const author = (by_description ?? by).replace(/\.$/, '')
  return `${changed_at} ${author}: ${verb} ${kind} ${id}`
}
