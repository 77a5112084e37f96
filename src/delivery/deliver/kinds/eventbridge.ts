/**
 * Amazon EventBridge: PutEvents, one event per entry.
 * https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 */
import type {
  EventBridgeClient,
  PutEventsCommandOutput,
  PutEventsRequestEntry,
  PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge'
import { ok, type Result } from '../../../ground/core/errors.js'
import type { Fault } from '../../outgoing/fault-class.js'
import type { PackedEvent } from '../../wire/packed-event.js'
import { awsAdvice } from '../advice/aws-advice.js'
import { arnAddress } from '../aws/arn.js'
import { AwsSender, type ClientOptions } from '../aws/aws.js'
import type { AwsDeps, AwsDestination, BillingUnit } from '../aws/aws-kind.js'
import { defineAwsKind } from '../aws/aws-kind.js'
import { type FailedEntry, notMentioned } from '../aws/entries.js'
import { faultOfRecord } from '../aws/faults.js'
import { endpointAnswers, unlessDenied } from '../aws/findings.js'
import { LeanClient, membersOf } from '../aws/lean-client.js'
import { rightsOn } from '../aws/rights.js'
import { jsonBody } from '../aws/shared-bodies.js'
import { eventbridgeForm, eventbridgeWords } from '../forms/aws-forms.js'
import { eventTypeIn } from '../kind/event-type.js'
import type { KindLimits } from '../kind/kind.js'
import { loadedOnce } from '../kind/loaded-once.js'
import { outcomeOfEach } from '../kind/outcomes.js'
import type { Finding, Sender, SendOutcome } from '../kind/sender.js'

// --- address ---

const address = arnAddress('event_bus_arn', {
  service: 'events',
  resource: /^event-bus\/[/.\-_A-Za-z0-9]{1,256}$/,
  example: 'arn:aws:events:us-east-1:123456789012:event-bus/name',
})

// --- limits ---

/** The bound for one entry and for all of a request: together they must be smaller than 1 MB. */
const entriesBytesMax = 1023 * 1024

/** 14 bytes for the time, and the source and the type of the event, which have no more than these together. */
const overheadBytes = 256

const limits: KindLimits = {
  eventsMax: 10,
  eventBytesMax: entriesBytesMax,
  sizeOf: (event) => detailBytes(event) + overheadBytes,
}

/** The line break of the pack is not part of the entry. */
const detailBytes = (event: Pick<PackedEvent, 'dataBytes'>): number => event.dataBytes - 1

/** Custom events: each begun 64 KB count as one (https://aws.amazon.com/eventbridge/pricing/). */
const billing: readonly BillingUnit[] = [
  { name: 'custom_events', about: 'Each begun 64 KB of an event.', bytes: 64 * 1024 },
]

// --- client ---

const sdk = loadedOnce(() => import('@aws-sdk/client-eventbridge'))

type Client = LeanClient<EventBridgeClient>

const openClient = async (options: ClientOptions): Promise<Client> =>
  new LeanClient(new (await sdk()).EventBridgeClient(options))

const putEvents = async (client: Client, Entries: PutEventsRequestEntry[], abortSignal: AbortSignal) => {
  const { PutEventsCommand } = await sdk()
  const inSeconds = Entries.map((entry) => ({ ...entry, Time: Number(entry.Time) / 1000 }))
  const body = jsonBody({ Entries: inSeconds })
  return client.send(PutEventsCommand, { Entries }, { body, abortSignal, read: readAccepted })
}

type Answer = Pick<PutEventsCommandOutput, 'FailedEntryCount' | 'Entries'>

function readAccepted(body: Buffer): Answer | undefined {
  const { FailedEntryCount, Entries } = membersOf<Answer>(body.toString())
  return FailedEntryCount === 0 && Entries?.every(({ EventId, ErrorCode }) => EventId && !ErrorCode)
    ? { FailedEntryCount, Entries }
    : undefined
}

const describe = async (client: Client, Name: string, abortSignal: AbortSignal) => {
  const { DescribeEventBusCommand } = await sdk()
  return client.sdk.send(new DescribeEventBusCommand({ Name }), { abortSignal })
}

/** Its members are in the order in which the SDK writes them. */
function entryOf(event: PackedEvent, EventBusName: string): PutEventsRequestEntry {
  const { data } = event
  return {
    Time: new Date(event.timestampMs),
    Source: 'weir',
    DetailType: eventTypeIn(data),
    Detail: data.toString('utf8', 0, detailBytes(event)),
    EventBusName,
  }
}

// --- sender ---

class EventBridgeSender extends AwsSender<Client> implements Sender {
  readonly #arn: string

  constructor(config: AwsDestination, deps: AwsDeps) {
    super(config, deps, openClient)
    this.#arn = config.address
  }

  async send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome> {
    const entries = events.map((event) => entryOf(event, this.#arn))
    const put = await this.call(signal, (client, abort) => putEvents(client, entries, abort))
    if (!put.ok) return { outcome: 'failed', fault: put.problem }
    const { Entries: results = [], $metadata } = put.value
    const { requestId } = $metadata
    const receipt = results.find(({ EventId }) => EventId !== undefined)?.EventId
    return outcomeOfEach(events.length, failures(events.length, results, requestId), {
      ...(requestId !== undefined && { requestId }),
      ...(receipt !== undefined && { receipt }),
    })
  }

  async check(_event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>> {
    const described = await this.call(signal, (client, abort) => describe(client, this.#arn, abort))
    const writing = 'The right to write (events:PutEvents), which EventBridge checks in no other request.'
    if (!described.ok) return unlessDenied(described.problem, 'events:DescribeEventBus', writing)
    return ok({
      mayWrite: false,
      proved: [endpointAnswers, 'The event bus exists.'],
      notProved: [writing, 'Whether a rule matches the events: EventBridge drops those that match none.'],
    })
  }
}

/** Codes of entries that are refused for what they are; others that AWS documents are known to all kinds. */
const refusals = new Set(['InvalidArgument', 'MalformedDetail', 'RedactionFailure'])

const faultOfEntry = (code: string, message: string | undefined, requestId: string | undefined): Fault =>
  faultOfRecord(code, message, requestId, refusals.has(code) ? 'poison' : 'transient')

/** The entries that were not accepted, as far as the answer says. */
function failures(
  count: number,
  results: readonly PutEventsResultEntry[],
  requestId: string | undefined,
): FailedEntry[] {
  const failed: FailedEntry[] = []
  for (let index = 0; index < count; index += 1) {
    const { EventId, ErrorCode, ErrorMessage } = results[index] ?? {}
    if (ErrorCode !== undefined)
      failed.push({ index, fault: faultOfEntry(ErrorCode, ErrorMessage, requestId) })
    else if (EventId === undefined) failed.push({ index, fault: notMentioned })
  }
  return failed
}

// --- declaration ---

export const eventbridge = defineAwsKind({
  name: 'eventbridge',
  title: 'EventBridge event bus',
  about: 'PutEvents. Source: `weir`; DetailType: the type of the event; Time: its time.',
  address,
  aws: {
    rights: rightsOn(['events:PutEvents'], ['events:DescribeEventBus']),
    billing,
  },
  endpointSetting: 'AWS_ENDPOINT_URL_EVENTBRIDGE',
  setup: { words: eventbridgeWords, forms: [eventbridgeForm] },
  advice: awsAdvice({ thing: 'event bus', more: 'raise the quota of PutEvents' }),
  limits,
  requestBytes: { max: entriesBytesMax, default: entriesBytesMax },
  keepsLineBreak: false,
  open: (config, deps) => new EventBridgeSender(config, deps),
})
