/** Decisions that the draft of a challenger would have made about past traffic: each of its parts is tried by itself. */
import type { Client } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'
import type { ChallengerDraft } from '../../../../words/resource/challenger-draft.js'
import type { Trial } from '../../../../words/shape/trial.js'
import { withDraftedRules } from '../../data/drafts/drafted-rules.js'
import { parameter, setParameters } from '../../data/location.js'
import { operationsAt, type Place, policiesAt } from '../../data/resources/edges.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { entryOfRule, type RuleEntry } from '../../data/resources/rule-files.js'
import { ChoiceField } from '../../kit/forms/fields.js'
import { TrialRun } from '../../parts/trial/trial-run.js'

type Challenger = Resource<'challenger'>

export function PastDifference({ challenger }: { readonly challenger: Challenger }) {
  const parts = partsOf(challenger)
  const chosen = parts.find(({ key }) => key === parameter('part')) ?? parts[0]
  if (chosen === undefined) return null
  return (
    <section class="panel stack" aria-labelledby="past">
      <h2 id="past">On the past</h2>
      {parts.length > 1 && (
        <ChoiceField
          label="The part that is tried"
          value={chosen.key}
          choices={parts.map(({ key, what, id }) => [key, `${what} ${nameOf(id).text}`] as const)}
          onChange={(part) => setParameters({ part, trial: '' })}
        />
      )}
      <TrialRun draft={JSON.stringify(chosen)} begin={chosen.begin} />
    </section>
  )
}

/** A part of a draft that can be tried. */
interface Part {
  readonly key: string
  readonly what: string
  readonly id: string
  readonly drafted: object
  readonly begin: (client: Client, since: string) => Promise<Trial>
}

/** A new restriction can't be tried: there is none yet whose change it would be. */
function partsOf({ draft: { edges, routes, ip_policies, ip_restrictions }, based_on }: Challenger): Part[] {
  const basisOf = (id: string) => based_on.find((basis) => basis.id === id)
  return [
    ...edges.flatMap((drafted) => modulesOf(drafted, { edgeId: drafted.id })),
    ...routes.flatMap((drafted) => {
      const edgeId = basisOf(drafted.id)?.edge_id
      return edgeId === undefined ? [] : modulesOf(drafted, { edgeId, routeId: drafted.id })
    }),
    ...ip_policies.map(rulesOf),
    ...ip_restrictions.filter(({ id }) => basisOf(id) !== undefined).map(restrictionOf),
  ]
}

function modulesOf(
  { id, policies, ip_restriction }: ChallengerDraft['edges'][number],
  place: Place,
): readonly Part[] {
  const parts: Part[] = []
  if (policies !== undefined)
    parts.push({
      key: `policies ${id}`,
      what: 'traffic policies of',
      id,
      drafted: policies,
      begin: (client, since) => policiesAt(client, place).policies.try(id, policies as never, { since }),
    })
  if (ip_restriction !== undefined)
    parts.push({
      key: `ip_restriction ${id}`,
      what: 'IP policies of',
      id,
      drafted: ip_restriction,
      begin: (client, since) =>
        operationsAt(client, place).operations.ip_restriction.try(id, ip_restriction as never, { since }),
    })
  return parts
}

const rulesOf = ({ id, ...drafted }: ChallengerDraft['ip_policies'][number]): Part => ({
  key: `rules ${id}`,
  what: 'rules of',
  id,
  drafted,
  async begin(client, since) {
    const present: RuleEntry[] = []
    for await (const rule of client.rules(id)) present.push(entryOfRule(rule))
    return client.tryRules(id, withDraftedRules(present, drafted), { since })
  },
})

const restrictionOf = ({ id, ...drafted }: ChallengerDraft['ip_restrictions'][number]): Part => ({
  key: `restriction ${id}`,
  what: 'the restriction',
  id,
  drafted,
  begin: (client, since) => client.tryRestriction(id, drafted as never, { since }),
})
