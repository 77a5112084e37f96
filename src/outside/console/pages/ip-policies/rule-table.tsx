/** The rules of one policy, with what each blocked. */

import { useMemo } from 'preact/hooks'
import type { UsedRule } from '../../../../words/client/rules.js'
import { useMore } from '../../data/asking/more.js'
import { parameter, setParameters } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { Choices, choiceIn } from '../../kit/choices.js'
import { Link } from '../../kit/link.js'
import { type Column, Table } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { Listing } from '../../parts/listing.js'
import { RuleSubject } from '../../parts/rule-subject.js'
import { Empty } from '../../parts/states.js'
import { ActionWord, UnenforcedWord } from '../../parts/words.js'

const periods = [
  ['24h', '24 h'],
  ['7d', '7 days'],
] as const

const actions = [
  ['', 'all'],
  ['allow', 'allow'],
  ['deny', 'deny'],
] as const

const step = 100

type Source = 'record' | 'asked'

/** A number leads to what it counts. */
function countText(value: number | undefined, rule_id: string, since: string, source: Source) {
  if (value === undefined) return <span class="quiet">–</span>
  return value === 0 ? (
    number(value)
  ) : (
    <Link to={['search']} with={{ rule_id, since, ...(source === 'asked' && { source }) }}>
      {number(value)}
    </Link>
  )
}

const columnsOf = (since: string): readonly Column<UsedRule>[] => [
  { title: 'Range', isMain: true, cell: ({ cidr, list }) => <RuleSubject cidr={cidr} list_id={list?.id} /> },
  {
    title: 'Action',
    cell: ({ action, enforced }) => (
      <>
        <ActionWord action={action} /> <UnenforcedWord isEnforced={enforced} />
      </>
    ),
  },
  { title: 'Description', isWide: true, cell: ({ description }) => description ?? '' },
  {
    title: 'Blocked',
    isNumber: true,
    cell: ({ id, counts }) => countText(counts?.blocked, id, since, 'record'),
  },
  {
    title: 'Asked',
    isNumber: true,
    cell: ({ id, counts }) => countText(counts?.asked, id, since, 'asked'),
  },
  {
    title: 'Last',
    cell: ({ counts }) => (counts?.last_at == null ? '' : <Time at={counts.last_at} isRelative />),
  },
  {
    title: 'Expires',
    cell: ({ expires_at }) => (expires_at == null ? '' : <Time at={expires_at} isRelative />),
  },
  { title: 'Added', cell: ({ created_at }) => <Time at={created_at} isRelative /> },
]

interface RuleTableProps {
  readonly policyId: string
  /** Grows with each change that was made here: the rules are asked for again. */
  readonly version: number
}

export function RuleTable({ policyId, version }: RuleTableProps) {
  const period = choiceIn('period', periods)
  const action = choiceIn('action', actions)
  const covers = parameter('covers')
  const rules = useMore(
    [policyId, period, action, covers, version],
    (client) =>
      client.rules(policyId, {
        countsSince: period,
        ...(covers === '' ? {} : { covers }),
        ...(action === '' ? {} : { filter: `action == '${action}'` }),
      }),
    step,
  )
  const columns = useMemo(() => columnsOf(period), [period])
  const isSearch = covers !== '' || action !== ''
  return (
    <>
      <div class="row">
        <input
          type="search"
          class="find"
          data-search
          aria-label="Rules that cover this address or range"
          placeholder="covers … 203.0.113.97"
          defaultValue={covers}
          onChange={(event) => setParameters({ covers: event.currentTarget.value.trim() })}
        />
        <Choices label="Action" name="action" choices={actions} />
        <Choices label="Counts of the last" name="period" choices={periods} />
      </div>
      <Listing answer={rules}>
        {(entries) => (
          <Table
            label="Rules"
            rows={entries}
            columns={columns}
            keyOf={({ id }) => id}
            onOpen={({ id }) => setParameters({ rule: id })}
            opened={parameter('rule')}
            empty={<NoRules isSearch={isSearch} />}
          />
        )}
      </Listing>
      <p class="quiet">
        Blocked: records. Asked: questions of ingress nodes and proxies. Allow rules have no numbers, because
        no single one lets a client in.
      </p>
    </>
  )
}

const NoRules = ({ isSearch }: { readonly isSearch: boolean }) =>
  isSearch ? (
    <Empty>No rule of this policy is like that.</Empty>
  ) : (
    <Empty>
      This policy has no rule: where it applies alone, it blocks every address. Add a rule, or import a list.
    </Empty>
  )
