/** The parts of a draft, in words: policies and rules as the pages that edit them show them, next to what holds now. */

import type { Resource } from '../../../../words/client/kinds.js'
import type { ChallengerDraft } from '../../../../words/resource/challenger-draft.js'
import { may } from '../../data/access/session.js'
import { useAnswer } from '../../data/asking/api.js'
import {
  beginPoliciesDraft,
  bodyOf,
  type DraftBody,
  differences,
  draftOf,
  namesOf,
  sides,
} from '../../data/drafts/policies-draft.js'
import { go, hrefTo } from '../../data/location.js'
import { type Place, policiesPath, presentPolicies } from '../../data/resources/edges.js'
import { Button } from '../../kit/button.js'
import { Link } from '../../kit/link.js'
import { SignedList } from '../../kit/tables/signed-list.js'
import { Time } from '../../kit/time.js'
import { Name, Names } from '../../parts/name.js'
import { PolicyLine } from '../../parts/policy-line.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { Answered } from '../../parts/states.js'
import { ActionWord, StateWord, UnenforcedWord } from '../../parts/words.js'

/** Where a part of the draft is; undefined if its edge is not known any more. */
function placeOf(id: string, based_on: Resource<'challenger'>['based_on']): Place | undefined {
  if (!id.startsWith('edghtsrt_')) return { edgeId: id }
  const edgeId = based_on.find((basis) => basis.id === id)?.edge_id
  return edgeId === undefined ? undefined : { edgeId, routeId: id }
}

interface DraftedPartsProps {
  readonly challenger: Resource<'challenger'>
}

export const DraftedParts = ({ challenger: { draft, based_on, state } }: DraftedPartsProps) => (
  <section class="panel stack" aria-labelledby="drafted">
    <h2 id="drafted">The draft</h2>
    {[...draft.edges, ...draft.routes].map(({ id, policies, ip_restriction }) => (
      <div key={id} class="stack tight">
        {policies !== undefined && (
          <>
            <h3>
              Traffic policies of <Name id={id} />
            </h3>
            <DraftedPolicies
              place={placeOf(id, based_on)}
              drafted={wholeModule(policies)}
              // A promoted draft is what holds now; one that ended may have been drafted from something else.
              isCompared={state === 'running'}
            />
          </>
        )}
        {ip_restriction !== undefined && (
          <>
            <h3>
              IP policies of <Name id={id} />
            </h3>
            <p>
              {!ip_restriction.enabled && <StateWord tone="quiet" text="switched off" />}{' '}
              <Names ids={ip_restriction.ip_policy_ids} />
            </p>
          </>
        )}
      </div>
    ))}
    {draft.ip_policies.map((drafted) => (
      <DraftedRules key={drafted.id} drafted={drafted} />
    ))}
    {draft.ip_restrictions.map(({ id, enforced, ip_policy_ids }) => (
      <div key={id} class="stack tight">
        <h3>
          The restriction <Name id={id} />
        </h3>
        <ul class="listed">
          {enforced !== undefined && <li>{enforced ? 'enforced' : 'not enforced: it only warns'}</li>}
          {ip_policy_ids !== undefined && (
            <li>
              with the IP policies <Names ids={ip_policy_ids} />
            </li>
          )}
        </ul>
      </div>
    ))}
    <details>
      <summary>As it was sent</summary>
      <pre>{JSON.stringify(draft, null, 2)}</pre>
    </details>
  </section>
)

/** As the editor would send it, with every member: so it can be compared with what holds. */
const wholeModule = (module: object | null): DraftBody => bodyOf(draftOf(module as DraftBody | null)).body

interface DraftedPoliciesProps {
  readonly place: Place | undefined
  readonly drafted: DraftBody
  readonly isCompared: boolean
}

function DraftedPolicies({ place, drafted, isCompared }: DraftedPoliciesProps) {
  if (place === undefined) return <PoliciesInWords drafted={drafted} />
  const edit = async (): Promise<void> => {
    if (await beginPoliciesDraft(place, drafted)) go(hrefTo(policiesPath(place)))
  }
  return (
    <>
      {isCompared ? <ComparedPolicies {...{ place, drafted }} /> : <PoliciesInWords drafted={drafted} />}
      {may('write') && (
        <div class="row">
          <Button onClick={edit}>Go on with it in the editor</Button>
        </div>
      )}
    </>
  )
}

function ComparedPolicies({ place, drafted }: { readonly place: Place; readonly drafted: DraftBody }) {
  const { edgeId, routeId } = place
  const present = useAnswer([edgeId, routeId], async (client) =>
    wholeModule(await presentPolicies(client, place)),
  )
  return (
    <Answered answer={present}>{(module) => <PoliciesInWords drafted={drafted} present={module} />}</Answered>
  )
}

interface PoliciesInWordsProps {
  readonly drafted: DraftBody
  readonly present?: DraftBody
}

function PoliciesInWords({ drafted, present }: PoliciesInWordsProps) {
  const changes = present === undefined ? [] : differences(present, drafted)
  const policies = sides.flatMap((side) => {
    const before = present && namesOf(present[side])
    return [...namesOf(drafted[side])].map(([name, policy], index) => (
      <PolicyLine
        key={`${side} ${index}`}
        {...{ side, index, policy }}
        {...(before && { before: before.get(name) ?? null })}
      />
    ))
  })
  return (
    <>
      {changes.length > 0 && (
        <ul class="listed">
          {changes.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
      {policies.length === 0 ? (
        <p class="quiet">None: all that it has go.</p>
      ) : (
        <ol class="policies">{policies}</ol>
      )}
    </>
  )
}

type Drafted = ChallengerDraft['ip_policies'][number]

/** What is added, changed and removed, a line for each. */
const DraftedRules = ({ drafted: { id, add, change, remove } }: { readonly drafted: Drafted }) => (
  <div class="stack tight">
    <h3>
      Rules of <Name id={id} />: {add.length} added, {change.length} changed, {remove.length} removed
    </h3>
    <SignedList title="Added" sign="+" kind="added" entries={add} line={AddedLine} />
    <SignedList title="Changed" sign="~" kind="changed" entries={change} line={ChangedLine} />
    <SignedList title="Removed" sign="−" kind="removed" entries={remove} line={RemovedLine} />
  </div>
)

function AddedLine({ entry }: { readonly entry: Drafted['add'][number] }) {
  const { action, cidr, list_id, description, enforced, expires_at } = entry
  return (
    <>
      <ActionWord action={action} />{' '}
      {cidr ? (
        <Link class="mono" to={['search']} with={{ client: cidr, since: '24h' }}>
          {cidr}
        </Link>
      ) : (
        <RuleSubject list_id={list_id} />
      )}{' '}
      {description} <UnenforcedWord isEnforced={enforced} />
      {expires_at != null && (
        <span class="quiet">
          {' '}
          until <Time at={String(expires_at)} />
        </span>
      )}
    </>
  )
}

function ChangedLine({ entry: { id, ...values } }: { readonly entry: Drafted['change'][number] }) {
  const { enforced, ...others } = values
  return (
    <>
      <Name id={id} />:{' '}
      {[
        ...(enforced === undefined ? [] : [enforced ? 'enforced from now on' : 'no longer enforced']),
        ...Object.entries(others).map(([name, value]) => `${name.replaceAll('_', ' ')} “${value}”`),
      ].join(', ')}
    </>
  )
}

const RemovedLine = ({ entry }: { readonly entry: string }) => <Name id={entry} />
