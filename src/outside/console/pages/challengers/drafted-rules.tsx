/** The rules of an IP policy in a draft: what is added, changed and removed, a line for each. */
import type { ChallengerDraft } from '../../../../words/resource/challenger-draft.js'
import { Link } from '../../kit/link.js'
import { SignedList } from '../../kit/tables/signed-list.js'
import { Time } from '../../kit/time.js'
import { Name } from '../../parts/name.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { ActionWord, UnenforcedWord } from '../../parts/words.js'

type Drafted = ChallengerDraft['ip_policies'][number]

export const DraftedRules = ({ drafted: { id, add, change, remove } }: { readonly drafted: Drafted }) => (
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
