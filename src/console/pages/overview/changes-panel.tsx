/** What was changed last, and by whom. */
import type { Change } from '../../../shape/change-schema.js'
import { Link } from '../../parts/link.js'
import { Name } from '../../parts/name.js'
import { Time } from '../../parts/time.js'

const listed = 6

export const ChangesPanel = ({ changes }: { readonly changes: readonly Change[] }) => (
  <section class="panel stack" aria-labelledby="changes">
    <h2 id="changes">
      <Link to={['changes']}>Changed last</Link>
    </h2>
    {changes.length === 0 && <p class="quiet">Nothing was changed in this time.</p>}
    <ul>
      {changes.slice(0, listed).map((change) => (
        <li key={`${change.version} ${change.id}`}>
          <Time at={change.changed_at} isRelative /> {authorOf(change)} <Verb change={change} />
        </li>
      ))}
    </ul>
  </section>
)

const pasts = { create: 'created', update: 'changed', delete: 'deleted' } as const

const Verb = ({ change: { verb, kind, id } }: { readonly change: Change }) => (
  <>
    {pasts[verb]}{' '}
    <Link to={['changes']} with={{ id }}>
      {kind.replaceAll('_', ' ')}
    </Link>{' '}
    {verb !== 'delete' && <Name id={id} />}
  </>
)

/** Who made a change, in words. */
export const authorOf = ({ api_key_description, api_key_id, source }: Change): string =>
  api_key_description || api_key_id || (source === 'CLI' ? 'the operator' : source)
