/**
 * The answer of Elasticsearch's bulk API, which is 200 also if documents were refused:
 * https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
 */
import { isNestedTooDeep } from '../../../ground/core/text/json-nesting.js'
import type { Fault, FaultClass } from '../../outgoing/fault-class.js'
import { fault } from '../../outgoing/faults.js'
import type { Hide } from '../../outgoing/hidden-secrets.js'
import type { HttpAnswer } from '../../outgoing/http-client.js'
import { outcomeOfEach } from '../kind/outcomes.js'
import type { SendOutcome } from '../kind/sender.js'

interface BulkItem {
  readonly status: number
  /** Undefined if the server does not say it. */
  readonly type: string | undefined
  readonly reason: string | undefined
}

/** One item per event, in their order; undefined if it is no such answer. Nothing that a server sends is taken on trust. */
function itemsOf({ body }: HttpAnswer, events: number): readonly BulkItem[] | undefined {
  const text = body.toString()
  if (text === '' || isNestedTooDeep(text)) return undefined
  try {
    const items = member(JSON.parse(text), 'items')
    return Array.isArray(items) && items.length === events ? items.map(itemOf) : undefined
  } catch {
    return undefined
  }
}

function itemOf(value: unknown): BulkItem {
  const item = typeof value === 'object' && value !== null ? Object.values(value)[0] : undefined
  const [status, error] = [member(item, 'status'), member(item, 'error')]
  return {
    status: typeof status === 'number' ? status : 0,
    type: textOf(member(error, 'type')),
    reason: textOf(member(error, 'reason')),
  }
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A document of this id exists: an earlier request whose answer was lost created it. */
const isAccepted = ({ status }: BulkItem): boolean => (status >= 200 && status < 300) || status === 409

/** A fault that only the setup can cause waits, as a passing one does; a document that can't be indexed is refused. */
function classOf(status: number): FaultClass {
  if (status === 429) return 'throttle'
  if (status === 401) return 'credentials'
  if (status === 403 || status === 404) return 'configuration'
  return status >= 400 && status < 500 ? 'poison' : 'transient'
}

const faultOf = ({ status, type, reason }: BulkItem, hide: Hide): Fault =>
  fault(
    classOf(status),
    hide(type ?? `Http${status}`),
    `The item has the status ${status}${reason === undefined ? '.' : `: ${hide(reason)}`}`,
  )

const notBulk = fault(
  'configuration',
  'NotBulkAnswer',
  "The answer is not that of Elasticsearch's bulk API, with an item for each event: is the URL that of _bulk?",
)

/** Its documents may be stored: sending them again stores them once. */
const incomplete = fault('transient', 'IncompleteAnswer', 'The answer ended before it was complete.')

/** Long reasons for many documents: the lane sends fewer of them at once. */
const longAnswer = fault(
  'poison',
  'LongAnswer',
  'The answer is too long to be read. Fewer events in a request have a shorter one.',
)

export function outcomeOfBulk(answer: HttpAnswer, events: number, hide: Hide): SendOutcome {
  if (answer.extent === 'cut') return { outcome: 'failed', fault: incomplete }
  // One event is no reason for such an answer, and must not be dead-lettered for it.
  if (answer.extent === 'long') return { outcome: 'failed', fault: events > 1 ? longAnswer : notBulk }
  const items = itemsOf(answer, events)
  if (items === undefined) return { outcome: 'failed', fault: notBulk }
  return outcomeOfEach(
    events,
    items.flatMap((item, index) => (isAccepted(item) ? [] : [{ index, fault: faultOf(item, hide) }])),
  )
}
