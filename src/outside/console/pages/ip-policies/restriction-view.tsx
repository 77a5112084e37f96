/** One restriction of the account: what it restricts, whether it is enforced, and what a change would do. */
import { useSignal } from '@preact/signals'
import { act, api, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo } from '../../data/location.js'
import { notify } from '../../data/notices.js'
import { Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import type { FormField, FormValues } from '../../parts/forms/declared-field.js'
import { DeclaredFields, useFormValues } from '../../parts/forms/declared-form.js'
import { Answered, Failure } from '../../parts/states.js'
import { Shadow } from '../../parts/trial/shadow.js'
import { TrialRun } from '../../parts/trial/trial-run.js'
import { EnforcedWord, type Restriction, restrictedBy, restrictionIn } from './restrictions.js'

export function RestrictionView({ id }: { readonly id: string }) {
  const restriction = useAnswer([id], (client) => client.ipRestriction.get(id))
  return (
    <div class="stack">
      <p>
        <Link to={['ip-policies']} with={{ tab: 'restrictions' }}>
          ← all restrictions
        </Link>
      </p>
      <Answered answer={restriction}>
        {(found) => (
          <>
            <Head restriction={found} />
            <Facts
              entries={[
                ['State', <EnforcedWord key="state" isEnforced={found.enforced} />],
                ['Id', <code key="id">{id}</code>],
                [
                  'Created',
                  <span key="at">
                    <Time at={found.created_at} isRelative /> ·{' '}
                    <Link to={['changes']} with={{ id }}>
                      history
                    </Link>
                  </span>,
                ],
              ]}
            />
            <Draft key={JSON.stringify(found)} restriction={found} again={restriction.again} />
          </>
        )}
      </Answered>
    </div>
  )
}

function Head({ restriction: { id, type, enforced } }: { readonly restriction: Restriction }) {
  const remove = async (): Promise<void> => {
    const isDone = await act('The restriction was deleted.', (client) => client.ipRestriction.delete(id))
    if (isDone) go(hrefTo(['ip-policies'], { tab: 'restrictions' }))
  }
  return (
    <div class="row apart">
      <h1>Restriction of {restrictedBy[type]}</h1>
      <EditButton
        kind="danger"
        onClick={remove}
        confirm={`Delete this restriction?${enforced ? ' What it keeps out may come in then.' : ''}`}
      >
        Delete
      </EditButton>
    </div>
  )
}

const fields: readonly FormField[] = [
  {
    name: 'enforced',
    label: 'Enforced',
    as: 'switch',
    hint: 'Off: it warns of what it would block, in the log and in answers, and blocks no one.',
  },
  { name: 'ip_policy_ids', label: 'IP policies', as: 'policies' },
  { name: 'description', label: 'Description', as: 'text' },
]

const valuesOf = ({ enforced, ip_policies, description = '' }: Restriction): FormValues => ({
  enforced,
  ip_policy_ids: ip_policies.map(({ id }) => id),
  description,
})

/** The order of policies says nothing. */
const sorted = ({ ip_policy_ids, ...others }: ReturnType<typeof restrictionIn>) => ({
  ...others,
  ip_policy_ids: ip_policy_ids.toSorted(),
})

interface DraftProps {
  readonly restriction: Restriction
  readonly again: () => void
}

function Draft({ restriction, again }: DraftProps) {
  const { id, type } = restriction
  const present = valuesOf(restriction)
  const values = useFormValues(fields, present)
  const fault = useSignal<unknown>(undefined)
  const body = restrictionIn(values.value)
  const save = async (): Promise<void> => {
    try {
      await api.ipRestriction.update(id, body)
    } catch (error) {
      // Such as that it would lock out the one who asks.
      fault.value = error
      return
    }
    fault.value = undefined
    notify({ text: 'The restriction was saved.', kind: 'good' })
    again()
  }
  const isChanged = JSON.stringify(sorted(body)) !== JSON.stringify(sorted(restrictionIn(present)))
  return (
    <div class="split">
      <section class="panel stack" aria-label="The restriction">
        <DeclaredFields fields={fields.slice(0, 1)} values={values} />
        <span class="label">IP policies</span>
        <DeclaredFields fields={fields.slice(1)} values={values} />
        {fault.value !== undefined && <Failure error={fault.value} />}
        <div class="row">
          <EditButton kind="main" onClick={save} isDisabled={!isChanged || body.ip_policy_ids.length === 0}>
            Save
          </EditButton>
        </div>
      </section>
      <Effect {...{ id, type, body, isChanged }} />
    </div>
  )
}

interface EffectProps {
  readonly id: string
  readonly type: string
  readonly body: { readonly enforced: boolean; ip_policy_ids: string[]; readonly description: string }
  readonly isChanged: boolean
}

const Effect = ({ id, type, body, isChanged }: EffectProps) => (
  <div class="stack aside">
    <section class="panel stack" aria-label="What would it change?">
      <h2>What would it change?</h2>
      {type === 'endpoints' ? (
        <TrialRun
          draft={JSON.stringify(body)}
          blocked={body.ip_policy_ids.length === 0 ? 'Choose an IP policy first.' : undefined}
          begin={(client, since) => client.tryRestriction(id, body, { since })}
        />
      ) : (
        <p class="quiet">
          Only traffic of edges is recorded, so this can’t be tried. A change that would lock you out is
          refused.
        </p>
      )}
    </section>
    {type === 'endpoints' && isChanged && (
      <Shadow
        draft={() => ({ ip_restrictions: [{ id, ...body }] })}
        isBlocked={body.ip_policy_ids.length === 0}
      />
    )}
  </div>
)
