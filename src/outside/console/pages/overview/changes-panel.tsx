/** The last changes, and who made them. */
import type { Change } from '../../../../words/shape/decisions/change-schema.js'
import type { Page } from '../../data/asking/api.js'
import type { Asked } from '../../data/asking/questions.js'
import { listedChanges } from '../../data/resources/promotions.js'
import { Link } from '../../kit/link.js'
import { Time } from '../../kit/time.js'
import { Name } from '../../parts/name.js'
import { Answered } from '../../parts/states.js'

const listed = 6

interface ChangesPanelProps {
  readonly answer: Asked<Page<Change>>
}

export const ChangesPanel = ({ answer }: ChangesPanelProps) => (
  <section class="panel stack" aria-labelledby="changes">
    <h2 id="changes">
      <Link to={['changes']}>Changed last</Link>
    </h2>
    <Answered answer={answer}>
      {({ entries }) =>
        entries.length === 0 ? (
          <p class="quiet">Nothing was changed in this time.</p>
        ) : (
          <ul>
            {listedChanges(entries)
              .slice(0, listed)
              .map(({ change, caused }) => (
                <li key={`${change.version} ${change.id}`}>
                  <Time at={change.changed_at} isRelative /> {authorOf(change)} <Verb change={change} />
                  {caused.map(({ id }, index) => (
                    <span key={id}>
                      {index === 0 ? ', which changed ' : ', '}
                      <Name id={id} />
                    </span>
                  ))}
                </li>
              ))}
          </ul>
        )
      }
    </Answered>
  </section>
)

const pasts = { create: 'created', update: 'changed', delete: 'deleted' } as const

const Verb = ({ change: { verb, kind, id, by_promotion_of } }: { readonly change: Change }) => (
  <>
    {id === by_promotion_of ? 'promoted' : pasts[verb]}{' '}
    <Link to={['changes']} with={{ id }}>
      {kind.replaceAll('_', ' ')}
    </Link>{' '}
    {verb !== 'delete' && <Name id={id} />}
  </>
)

/** Who made a change, in words, for the middle of a sentence. */
export const authorOf = ({ by, by_description }: Change): string => (by_description ?? by).replace(/\.$/, '')
