/** The state of a destination in words, and which of several is worse. */
import type { DeliveryStatus } from '../../../words/shape/delivery-status.js'
import { StateWord, type Tone } from './words.js'

type State = Pick<DeliveryStatus, 'state' | 'cause' | 'behind'>

/** Someone wanted it so. */
const byHand = 'paused by hand'

interface Rank {
  readonly applies: (status: State) => boolean
  readonly tone: Tone
  readonly text: string
}

/** The worst first. */
const ranks: readonly Rank[] = [
  { applies: ({ state, cause }) => state === 'paused' && cause !== byHand, tone: 'bad', text: 'paused' },
  { applies: ({ state }) => state === 'failing', tone: 'bad', text: 'failing' },
  { applies: ({ behind }) => behind !== null, tone: 'warning', text: 'behind' },
  { applies: ({ state }) => state === 'throttled', tone: 'warning', text: 'throttled' },
  { applies: ({ state }) => state === 'paused', tone: 'quiet', text: byHand },
  { applies: () => true, tone: 'good', text: 'healthy' },
]

const rankOf = (status: State): number => ranks.findIndex(({ applies }) => applies(status))

export function DestinationState({ status }: { readonly status: State }) {
  const { tone, text } = ranks[rankOf(status)]!
  return <StateWord tone={tone} text={text} />
}

/** For sorting: the worst first; of equal ones, the one for which most waits. */
export const byTrouble = (a: DeliveryStatus, b: DeliveryStatus): number =>
  rankOf(a) - rankOf(b) || b.backlog.events - a.backlog.events
