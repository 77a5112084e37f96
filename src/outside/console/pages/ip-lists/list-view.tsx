/** One IP list: its source, its entries, who uses it, and what can be done with it. */
import type { Client } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'
import { act, firstOf, useAnswer } from '../../data/asking/api.js'
import { go, hrefTo, parameter, setParameters } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { Facts } from '../../kit/facts.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { EditButton } from '../../parts/edit-button.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'
import { ActionWord, UnenforcedWord } from '../../parts/words.js'
import { Entries } from './list-entries.js'
import { ChangeList } from './list-forms.js'
import { SourcePanel } from './list-source.js'

const lookEveryMs = 15_000

export function ListView({ id }: { readonly id: string }) {
  const answer = useAnswer([id], (client) => client.ipList.get(id), { everyMs: lookEveryMs })
  return (
    <div class="stack">
      <p>
        <Link to={['ip-lists']}>← all IP lists</Link>
      </p>
      <Answered answer={answer}>
        {(list) => (
          <>
            <Head list={list} />
            <ListFacts list={list} />
            <SourcePanel list={list} again={answer.again} />
            <ListUses list={list} />
            <Entries list={list} />
            {parameter('edit') === 'list' && (
              <ChangeList
                list={list}
                onClose={(isDone) => {
                  setParameters({ edit: '' })
                  if (isDone) answer.again()
                }}
              />
            )}
          </>
        )}
      </Answered>
    </div>
  )
}

interface ListProps {
  readonly list: Resource<'ipList'>
}

function Head({ list: { id, name, source } }: ListProps) {
  const remove = async (): Promise<void> => {
    if (await act('The IP list was deleted.', (client) => client.ipList.delete(id))) go(hrefTo(['ip-lists']))
  }
  return (
    <div class="row apart">
      <h1>{name}</h1>
      <div class="row">
        <EditButton onClick={() => setParameters({ edit: 'list' })}>Edit</EditButton>
        {source === null && (
          <Link class="button" to={['ip-lists', id, 'entries']}>
            Set the entries
          </Link>
        )}
        <EditButton
          kind="danger"
          onClick={remove}
          confirm={`Delete the IP list ${name} and all its entries?`}
        >
          Delete
        </EditButton>
      </div>
    </div>
  )
}

const ListFacts = ({ list }: ListProps) => {
  const { id, category, description, metadata, entries, updated_at } = list
  return (
    <Facts
      entries={[
        ['Id', <code key="id">{id}</code>],
        ['Category', category ?? <span class="quiet">none</span>],
        ...(description ? [['Description', description] as const] : []),
        ...(metadata === undefined ? [] : [['Metadata', metadata] as const]),
        ['Entries', number(entries)],
        [
          'Changed',
          <span key="at">
            {updated_at === null ? 'never' : <Time at={updated_at} isRelative />} ·{' '}
            <Link to={['changes']} with={{ id }}>
              history
            </Link>
          </span>,
        ],
      ]}
    />
  )
}

const rulesShownMax = 20

/** As the name of a list allows: it has no quotes. */
export const inListExpression = (name: string): string => `inList(conn.client_ip, '${name}')`

/** All of them: an account has few. */
async function bouncersWith(client: Client, listId: string): Promise<readonly Resource<'bouncer'>[]> {
  const found: Resource<'bouncer'>[] = []
  for await (const bouncer of client.bouncer.list())
    if (bouncer.ip_lists.some(({ id }) => id === listId)) found.push(bouncer)
  return found
}

/** The rules of IP policies that are about it, and the bouncers that ban its entries. */
function ListUses({ list: { id, name } }: ListProps) {
  const answer = useAnswer([id], async (client) => {
    const filter = `list.id == '${id}'`
    const [rules, bouncers] = await Promise.all([
      firstOf(client.ipPolicyRule.list({ filter, limit: rulesShownMax }), rulesShownMax),
      bouncersWith(client, id),
    ])
    return { rules, bouncers }
  })
  return (
    <section class="stack tight" aria-labelledby="uses">
      <h2 id="uses">Used by</h2>
      <Answered answer={answer}>
        {({ rules: { entries: rules, hasMore }, bouncers }) =>
          rules.length + bouncers.length === 0 ? (
            <p class="quiet">No rule of an IP policy is about it, and no bouncer has it.</p>
          ) : (
            <ul class="listed">
              {rules.map((rule) => (
                <li key={rule.id}>
                  <ActionWord action={rule.action} /> <UnenforcedWord isEnforced={rule.enforced} />{' '}
                  <Link to={['ip-policies', rule.ip_policy.id]} with={{ rule: rule.id }} title={rule.id}>
                    {rule.description || 'a rule'}
                  </Link>{' '}
                  of <Name id={rule.ip_policy.id} />
                </li>
              ))}
              {hasMore && <li class="quiet">and more rules</li>}
              {bouncers.map((bouncer) => (
                <li key={bouncer.id}>
                  the bouncer <Name id={bouncer.id} />, which bans its entries
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
      <p class="quiet">
        In expressions: <code>{inListExpression(name)}</code>
      </p>
    </section>
  )
}
