/** One change: what it did to each field, and how to put back what was before it, or what it made. */
import type { Change } from '../../../../words/shape/decisions/change-schema.js'
import { openEntry } from '../../data/location.js'
import { keyOfChange } from '../../data/resources/promotions.js'
import { kindTitle } from '../../data/resources/resource-kinds.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { Button } from '../../kit/button.js'
import { Drawer } from '../../kit/drawer.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { Difference, rulesText } from '../../parts/difference.js'
import { Name } from '../../parts/name.js'
import { Restoration } from './restoration.js'

const titles = { create: 'Created', update: 'Changed', delete: 'Deleted' } as const

interface ChangeDrawerProps {
  readonly change: Change
  /** The changes that it caused, because it is a promotion. */
  readonly caused: readonly Change[]
  readonly onClose: () => void
}

export function ChangeDrawer({ change, caused, onClose }: ChangeDrawerProps) {
  const { verb, kind, id, by_promotion_of } = change
  const title = by_promotion_of === id ? 'Promoted' : titles[verb]
  return (
    <Drawer title={`${title}: ${kindTitle(kind)}`} onClose={onClose}>
      <Facts change={change} />
      {caused.map((each) => (
        <section key={each.id} class="stack tight" aria-label={nameOf(each.id).text}>
          <h3>
            {titles[each.verb]}: {kindTitle(each.kind)} <Name id={each.id} />
          </h3>
          <Done change={each} />
          <p>
            <Button onClick={() => openEntry(keyOfChange(each))}>Look at it alone, or put it back</Button>
          </p>
        </section>
      ))}
      {caused.length === 0 ? (
        <Done change={change} />
      ) : (
        <details>
          <summary>The challenger itself</summary>
          <Done change={change} />
        </details>
      )}
      <p>
        <Link to={['changes']} with={{ id }}>
          Every change of it
        </Link>
      </p>
      <Restoration change={change} />
    </Drawer>
  )
}

const Done = ({ change: { rules, fields } }: { readonly change: Change }) => (
  <>
    {rules !== null && <p>{rulesText(rules)}</p>}
    {(fields.length > 0 || rules === null) && <Difference fields={fields} />}
  </>
)

function Facts({ change }: { readonly change: Change }) {
  const { id, by, by_description, by_promotion_of, source } = change
  const { client_address, operation_id, changed_at, version } = change
  return (
    <dl class="facts">
      <dt>Resource</dt>
      <dd>
        <Name id={id} /> {nameOf(id).text !== id && <span class="quiet mono">{id}</span>}
      </dd>
      <dt>When</dt>
      <dd>
        <Time at={changed_at} /> <span class="quiet">version {version}</span>
      </dd>
      <dt>By</dt>
      <dd>
        {by_description ?? by}{' '}
        <Link to={['changes']} with={{ by }} class="quiet">
          all changes
        </Link>
      </dd>
      {by_promotion_of !== null && (
        <>
          <dt>Promotion of</dt>
          <dd>
            <Name id={by_promotion_of} />
          </dd>
        </>
      )}
      <dt>From</dt>
      <dd>{client_address ?? source}</dd>
      {operation_id !== null && (
        <>
          <dt>Operation</dt>
          <dd class="mono">{operation_id}</dd>
        </>
      )}
    </dl>
  )
}
