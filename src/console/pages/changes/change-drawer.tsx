/** One change: what it did to each field, and how to put back what was before it, or what it made. */
import type { Change } from '../../../shape/change-schema.js'
import { kindTitle } from '../../data/resources/resource-kinds.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { Difference, rulesText } from '../../parts/difference.js'
import { Drawer } from '../../parts/drawer.js'
import { Link } from '../../parts/link.js'
import { Name } from '../../parts/name.js'
import { Time } from '../../parts/time.js'
import { Restoration } from './restoration.js'

const titles = { create: 'Created', update: 'Changed', delete: 'Deleted' } as const

export function ChangeDrawer({ change, onClose }: { readonly change: Change; readonly onClose: () => void }) {
  const { verb, kind, id, rules, fields } = change
  return (
    <Drawer title={`${titles[verb]}: ${kindTitle(kind)}`} onClose={onClose}>
      <Facts change={change} />
      {rules !== null && <p>{rulesText(rules)}</p>}
      {(fields.length > 0 || rules === null) && <Difference fields={fields} />}
      <p>
        <Link to={['changes']} with={{ id }}>
          Every change of it
        </Link>
      </p>
      <Restoration change={change} />
    </Drawer>
  )
}

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
