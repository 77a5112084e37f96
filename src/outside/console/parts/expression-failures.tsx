/**
 * Policies of an edge, or filters of a subscription, whose expressions had no result in the last day. Shown if there are
 * any.
 */
import { ApiError } from '../../../words/client/api-error.js'
import type {
  ExpressionFailure,
  ExpressionFailures as Failures,
} from '../../../words/shape/expression-failure.js'
import { errorText, useAnswer } from '../data/asking/api.js'
import { useShown } from '../data/asking/questions.js'
import { number } from '../data/texts/format.js'
import { Link } from '../kit/link.js'
import { type Column, Table } from '../kit/tables/table.js'
import { Time } from '../kit/time.js'
import { Name } from './name.js'
import { Failure } from './states.js'

/** One of them. */
interface FailuresProps {
  readonly edgeId?: string
  readonly subscriptionId?: string
}

const askEveryMs = 15_000

export function ExpressionFailures(of: FailuresProps) {
  const { edgeId = '', subscriptionId = '' } = of
  const answer = useAnswer(
    [edgeId, subscriptionId],
    (client) => client.expressionFailures({ ...of, since: '24h' }),
    { everyMs: askEveryMs },
  )
  useShown(answer)
  const { data, error, again } = answer
  if (error instanceof ApiError && error.error_code === 'ERR_LOG_OFF')
    return <p class="quiet">{errorText(error)}</p>
  if (error !== undefined) return <Failure error={error} again={again} />
  return data === undefined || data.expression_failures.length === 0 ? null : <Found data={data} />
}

const Found = ({ data }: { readonly data: Failures }) => (
  <section class="panel stack" aria-label="Expressions without a result in the last 24 hours">
    <h2>Expressions without a result, 24 h</h2>
    <p class="quiet">
      {data.expression_failures[0]?.place.kind === 'filter'
        ? 'No event was made of these records, because the filter failed for them.'
        : 'The policy did not apply to these records or questions, because an expression failed for them.'}
    </p>
    <Table
      label="Expressions without a result"
      rows={data.expression_failures}
      columns={columns}
      keyOf={({ place }) => Object.values(place).join(' ')}
    />
    {data.left_out > 0 && <p class="quiet">{number(data.left_out)} more</p>}
  </section>
)

const columns: readonly Column<ExpressionFailure>[] = [
  { title: 'Place', isMain: true, cell: ({ place }) => <Place place={place} /> },
  { title: 'Times', isNumber: true, cell: ({ count }) => number(count) },
  {
    title: 'Why, the last time',
    isWide: true,
    cell: ({ last_expression, last_message }) => (
      <span title={`${last_expression ?? ''}\n${last_message}`.trim()}>
        {last_message} {last_expression !== null && <code>{last_expression}</code>}
      </span>
    ),
  },
  { title: 'Last', cell: ({ last_at }) => <Time at={last_at} isRelative /> },
  {
    title: 'Example',
    cell: ({ example_record_id }) =>
      example_record_id === null ? (
        <span class="quiet">–</span>
      ) : (
        <Link to={['explain', example_record_id]} title={example_record_id}>
          explain
        </Link>
      ),
  },
]

function Place({ place: { event_kind, route_id, policy } }: Pick<ExpressionFailure, 'place'>) {
  if (event_kind !== null) return <>{event_kind}</>
  return (
    <p class="name">
      {policy}
      {route_id !== null && (
        <span class="quiet">
          {' '}
          of <Name id={route_id} />
        </span>
      )}
    </p>
  )
}
