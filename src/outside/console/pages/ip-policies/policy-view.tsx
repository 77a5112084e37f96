/** One IP policy: who uses it, its rules, and what can be done with them. */
import { useSignal } from '@preact/signals'
import type { IpPolicyUse } from '../../../../words/shape/ip-policy-rules.js'
import { act, api, useAnswer } from '../../data/asking/api.js'
import { save } from '../../data/asking/export.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { asCsv, asNdjson, entryOfRule, type RuleEntry } from '../../data/resources/rule-files.js'
import { number } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import { DeclaredForm } from '../../parts/forms/declared-form.js'
import { Answered } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'
import { closeRule, RuleDrawer } from './rule-drawer.js'
import { AddRule } from './rule-forms.js'
import { RuleTable } from './rule-table.js'

export function PolicyView({ id }: { readonly id: string }) {
  const version = useSignal(0)
  const policy = useAnswer([id], (client) => client.ipPolicy.get(id))
  const changed = (): void => {
    version.value += 1
  }
  return (
    <div class="stack">
      <p>
        <Link to={['ip-policies']}>← all IP policies</Link>
      </p>
      <Answered answer={policy}>
        {({ description, metadata, created_at }) => (
          <>
            <Head id={id} description={description} />
            <Facts
              entries={[
                ['Id', <code key="id">{id}</code>],
                ...(metadata === undefined ? [] : [['Metadata', metadata] as const]),
                [
                  'Created',
                  <span key="at">
                    <Time at={created_at} isRelative /> ·{' '}
                    <Link to={['changes']} with={{ id }}>
                      history
                    </Link>
                  </span>,
                ],
              ]}
            />
            <Uses id={id} />
            <div class="row apart">
              <h2>Rules</h2>
              <RuleActions id={id} />
            </div>
            <RuleTable policyId={id} version={version.value} />
            {parameter('edit') === 'policy' && (
              <EditPolicy
                {...{ id, description }}
                onClose={(isDone) => {
                  setParameters({ edit: '' })
                  if (isDone) policy.again()
                }}
              />
            )}
          </>
        )}
      </Answered>
      {parameter('add') !== '' && (
        <AddRule
          policyId={id}
          onClose={(isDone) => {
            closeRule()
            if (isDone) changed()
          }}
        />
      )}
      {parameter('rule') !== '' && (
        <RuleDrawer id={parameter('rule')} onClose={closeRule} onChanged={changed} />
      )}
    </div>
  )
}

interface HeadProps {
  readonly id: string
  readonly description: string | undefined
}

function Head({ id, description }: HeadProps) {
  const remove = async (): Promise<void> => {
    const isDone = await act('The IP policy was deleted.', (client) => client.ipPolicy.delete(id))
    if (isDone) go(hrefTo(['ip-policies']))
  }
  return (
    <div class="row apart">
      <h1>{description ?? 'An IP policy without description'}</h1>
      <div class="row">
        <EditButton onClick={() => setParameters({ edit: 'policy' })}>Edit</EditButton>
        <EditButton
          kind="danger"
          onClick={remove}
          confirm="Delete the IP policy and all its rules? Where it is used, it counts as a policy without rules: what only it lets in is blocked."
        >
          Delete
        </EditButton>
      </div>
    </div>
  )
}

const editPolicy = { title: 'Edit the IP policy', submit: 'Save', done: 'The IP policy was saved.' }

const editPolicyFields: readonly FormField[] = [{ name: 'description', label: 'Description', as: 'text' }]

interface EditPolicyProps extends HeadProps {
  readonly onClose: (isDone: boolean) => void
}

const EditPolicy = ({ id, description = '', onClose }: EditPolicyProps) => (
  <DeclaredForm
    look={editPolicy}
    fields={editPolicyFields}
    present={{ description }}
    send={(client, body) => client.ipPolicy.update(id, body)}
    onClose={onClose}
  />
)

const shownUses = 8

function Uses({ id }: { readonly id: string }) {
  const uses = useAnswer([id], (client) => client.ipPolicyUses(id))
  return (
    <section class="stack tight" aria-label="Used by">
      <h2>Used by</h2>
      <Answered answer={uses}>
        {({ uses, uses_left_out }) => {
          if (uses.length === 0) return <p class="quiet">Nothing refers to it: it blocks no one.</p>
          const rest = uses.length - shownUses + uses_left_out
          return (
            <ul class="listed">
              {uses.slice(0, shownUses).map((use) => (
                <li key={`${use.id} ${use.field}`}>
                  <Use use={use} />
                </li>
              ))}
              {rest > 0 && <li class="quiet">and {number(rest)} more</li>}
            </ul>
          )
        }}
      </Answered>
    </section>
  )
}

function Use({
  use: { kind, id, hostports, edge_id, match, type, description, applies },
}: {
  readonly use: IpPolicyUse
}) {
  const off = applies ? null : (
    <StateWord tone="quiet" text={kind === 'ip_restriction' ? 'only warns' : 'switched off'} />
  )
  if (kind === 'ip_restriction')
    return (
      <>
        <Link to={['ip-policies', id]}>the restriction of {type}</Link> {description} {off}
      </>
    )
  if (kind === 'bouncer')
    return (
      <>
        <Link to={['bouncers', id]}>the bouncer</Link> {description}
      </>
    )
  return (
    <>
      <Link to={['edges', edge_id ?? id]} title={id}>
        {hostports[0] ?? id}
        {match === null ? '' : ` ${match}`}
      </Link>{' '}
      {hostports.length > 1 && <span class="quiet">and {hostports.length - 1} hostports more</span>} {off}
    </>
  )
}

function RuleActions({ id }: { readonly id: string }) {
  return (
    <div class="row">
      <EditButton onClick={() => setParameters({ add: 'new' })}>Add a rule</EditButton>
      <Link class="button" to={['ip-policies', id, 'replace']}>
        Import or replace
      </Link>
      <Button onClick={() => exportRules(id, 'csv')}>Export CSV</Button>
      <Button onClick={() => exportRules(id, 'ndjson')}>NDJSON</Button>
    </div>
  )
}

async function exportRules(id: string, ending: 'csv' | 'ndjson'): Promise<void> {
  const rules: RuleEntry[] = []
  await act('The rules were exported.', async () => {
    for await (const rule of api.rules(id)) rules.push(entryOfRule(rule))
    const text = ending === 'csv' ? asCsv(rules) : asNdjson(rules)
    save(
      new Blob([text], { type: ending === 'csv' ? 'text/csv' : 'application/x-ndjson' }),
      `${id}.${ending}`,
    )
  })
}
