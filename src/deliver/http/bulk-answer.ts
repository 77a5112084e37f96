/**
 * The answer of Elasticsearch's bulk API, which is 200 also if documents were refused:
 * https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-bulk
 */
import type { Fault, FaultClass, SendOutcome } from '../destination.js'
import { fault } from '../faults.js'
import { outcomeOfEach } from '../lane/outcomes.js'
import type { HttpAnswer } from './http-client.js'

interface BulkItem {
  readonly status?: number
  readonly error?: { readonly type?: string; readonly reason?: string }
}

/** One item per event, in their order; undefined if it is no such answer. */
function itemsOf({ body, isWhole }: HttpAnswer, events: number): readonly BulkItem[] | undefined {
  if (!isWhole) return undefined
  try {
    const { items } = JSON.parse(body.toString()) as { items?: Record<string, BulkItem>[] }
    if (!Array.isArray(items) || items.length !== events) return undefined
    return items.map((item) => Object.values(item)[0] ?? {})
  } catch {
    return undefined
  }
}

/** A document of this id exists: an earlier request whose answer was lost created it. */
const isAccepted = ({ status = 0 }: BulkItem): boolean => (status >= 200 && status < 300) || status === 409

/** What only the setup can cause waits, as what passes does; a document that can't be indexed is refused. */
function classOf(status: number): FaultClass {
  if (status === 429) return 'throttle'
  if (status === 401) return 'credentials'
  if (status === 403 || status === 404) return 'configuration'
  return status >= 400 && status < 500 ? 'poison' : 'transient'
}

const faultOf = ({ status = 0, error = {} }: BulkItem): Fault =>
  fault(classOf(status), error.type ?? `Http${status}`, error.reason ?? `The item has the status ${status}.`)

const notBulk = fault(
  'configuration',
  'NotBulkAnswer',
  "The answer is not that of Elasticsearch's bulk API, with an item for each event: is the URL that of _bulk?",
)

export function outcomeOfBulk(answer: HttpAnswer, events: number): SendOutcome {
  const items = itemsOf(answer, events)
  if (items === undefined) return { outcome: 'failed', fault: notBulk }
  return outcomeOfEach(
    events,
    items.flatMap((item, index) => (isAccepted(item) ? [] : [{ index, fault: faultOf(item) }])),
  )
}
