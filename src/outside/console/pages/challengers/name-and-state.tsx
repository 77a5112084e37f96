/** The name of a challenger, its drafted parts and its state, as the list of challengers shows them. */
import type { Resource } from '../../../../words/client/kinds.js'
import type { ChallengerDraft } from '../../../../words/resource/challenger-draft.js'
import { StateWord, type Tone } from '../../parts/words.js'

type Challenger = Resource<'challenger'>
type State = NonNullable<Challenger['state']>

const tones: Readonly<Record<State, Tone>> = {
  running: 'good',
  ended: 'quiet',
  promoted: 'good',
  discarded: 'quiet',
}

export const ChallengerState = ({ challenger: { state } }: { readonly challenger: Challenger }) =>
  state == null ? null : <StateWord tone={tones[state]} text={state} />

export const nameOfChallenger = ({ description, id }: Challenger): string => description || id

const plural = (count: number, one: string, many: string): string[] =>
  count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]

/** `1 edge, 2 IP policies`. */
export const draftedParts = ({ edges, routes, ip_policies, ip_restrictions }: ChallengerDraft): string =>
  [
    ...plural(edges.length, 'edge', 'edges'),
    ...plural(routes.length, 'route', 'routes'),
    ...plural(ip_policies.length, 'IP policy', 'IP policies'),
    ...plural(ip_restrictions.length, 'restriction', 'restrictions'),
  ].join(', ')
