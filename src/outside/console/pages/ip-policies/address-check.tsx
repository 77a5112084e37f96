/** The treatment of an address: rules by lists that contain it, and who would let it in or refuse it. */
import type { AddressCheck, CheckedUse } from '../../../../words/shape/address-check.js'
import { useAnswer } from '../../data/asking/api.js'
import { number } from '../../data/texts/format.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'
import { ActionWord, DecisionWord, StateWord, UnenforcedWord } from '../../parts/words.js'

export function WhoAllows({ address }: { readonly address: string }) {
  const check = useAnswer([address], (client) => client.checkAddress(address))
  return (
    <section class="stack" aria-labelledby="who-allows">
      <h2 id="who-allows">Who would let it in?</h2>
      <Answered answer={check}>
        {({ rules, uses, uses_left_out }) => (
          <>
            <RulesByList rules={rules} />
            <Table
              label="Who would let the address in"
              rows={uses}
              columns={columns}
              keyOf={({ id, field }) => `${id} ${field}`}
              empty={
                <p class="quiet">
                  No edge, restriction or bouncer has an IP policy: nothing blocks it by one.
                </p>
              }
            />
            {uses_left_out > 0 && <p class="quiet">{number(uses_left_out)} more are not listed.</p>}
          </>
        )}
      </Answered>
    </section>
  )
}

/** Those that are about a range are listed above. */
function RulesByList({ rules }: Pick<AddressCheck, 'rules'>) {
  const byList = rules.filter(({ list_id }) => list_id !== null)
  if (byList.length === 0) return null
  return (
    <ul class="listed" aria-label="Rules about lists that contain it">
      {byList.map(({ rule_id, ip_policy_id, action, enforced, cidr, list_id, description }) => (
        <li key={rule_id}>
          <ActionWord action={action} /> <UnenforcedWord isEnforced={enforced} />{' '}
          <span class="mono">{cidr}</span> in the list <Name id={list_id ?? ''} />:{' '}
          <Link to={['ip-policies', ip_policy_id]} with={{ rule: rule_id }} title={rule_id}>
            {description || 'a rule'}
          </Link>{' '}
          of <Name id={ip_policy_id} />
        </li>
      ))}
    </ul>
  )
}

const columns: readonly Column<CheckedUse>[] = [
  { title: 'Decision', cell: ({ decision }) => <DecisionWord decision={decision} /> },
  { title: 'By', isMain: true, cell: (use) => <Where use={use} />, isWide: true },
  {
    title: 'Because of',
    cell: ({ rule_id, list_id }) => {
      const id = rule_id ?? list_id
      return id === null ? <span class="quiet">no rule contains it</span> : <Name id={id} />
    },
  },
  {
    title: 'Applies',
    cell: ({ applies }) =>
      applies ? 'yes' : <StateWord tone="quiet" text="no: switched off, or only warns" />,
  },
]

/** A route has a page at its edge. */
const Where = ({ use: { id, edge_id, hostports, match } }: { readonly use: CheckedUse }) =>
  edge_id === null ? (
    <Name id={id} />
  ) : (
    <Link to={['edges', edge_id]} title={id}>
      {hostports[0] ?? id} {match}
    </Link>
  )
