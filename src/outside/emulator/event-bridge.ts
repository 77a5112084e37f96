/** Amazon EventBridge: https://docs.aws.amazon.com/eventbridge/latest/APIReference/ */
import { uuid } from '../../ground/core/clock.js'
import { AwsError, constraintBroken, resourceNotFound } from './aws-error.js'
import { throttled } from './fault-book.js'
import { type Call, type Input, list, number, type Service, text } from './operation.js'
import type { Resource } from './world.js'

const entriesMax = 10
/** The entries of a request must be smaller: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html */
const requestBytesMax = 1024 * 1024
const timeBytes = 14

interface Entry {
  readonly bus: string
  readonly source: string
  readonly detailType: string
  readonly detail: string
  readonly timestampMs: number | undefined
  readonly bytes: number
}

function putEvents(input: Input, call: Call): object {
  const given = list(input, 'Entries') ?? []
  if (given.length < 1 || given.length > entriesMax) {
    throw constraintBroken('entries', `have length between 1 and ${entriesMax}`)
  }
  const entries = given.map(parseEntry)
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
  if (bytes >= requestBytesMax) {
    throw new AwsError('ValidationException', `Total size of the entries in the request is over the limit.`)
  }
  call.world.faults.checkPoison(call.target, () => entries.map(({ detail }) => detail))
  const bus = findBus(entries[0]!.bus, call)
  if (!bus.windows[0]!.take(bus.spec, call.nowMs, 1, entries.length, bytes)) throw throttled('events')
  const results = entries.map((entry) => putEvent(entry, call))
  const failed = results.filter((result) => 'ErrorCode' in result).length
  call.world.countRecords('events.PutEvents', entries.length - failed, failed)
  return { FailedEntryCount: failed, Entries: results }
}

function parseEntry(entry: Input): Entry {
  const seconds = number(entry, 'Time')
  const [source = '', detailType = '', detail = ''] = ['Source', 'DetailType', 'Detail'].map((name) =>
    text(entry, name),
  )
  const texts = [source, detailType, detail].reduce((sum, each) => sum + Buffer.byteLength(each), 0)
  return {
    bus: text(entry, 'EventBusName') ?? 'default',
    source,
    detailType,
    detail,
    timestampMs: seconds === undefined ? undefined : seconds * 1000,
    bytes: texts + (seconds === undefined ? 0 : timeBytes),
  }
}

function putEvent(entry: Entry, call: Call): object {
  const { bus, source, detailType, detail: data, timestampMs, bytes } = entry
  const failure = call.world.faults.forRecord(call.target, 0, () => data) ?? wrongIn(entry)
  if (failure !== undefined) return { ErrorCode: failure.code, ErrorMessage: failure.message }
  const { requestId, nowMs: atMs } = call
  const arrival = { data, encoding: 'utf8', bytes, requestId, atMs, source, detailType } as const
  findBus(bus, call).ledger.add({ ...arrival, ...(timestampMs !== undefined && { timestampMs }) })
  return { EventId: uuid() }
}

/** Why an entry is refused while others are accepted. */
function wrongIn({ source, detailType, detail }: Entry): { code: string; message: string } | undefined {
  const invalid = (message: string) => ({ code: 'InvalidArgument', message })
  if (source === '') return invalid('Parameter Source is not valid. Reason: Source is a required argument.')
  if (source.startsWith('aws.'))
    return { code: 'NotAuthorizedForSourceException', message: 'Not authorized for the source.' }
  if (detailType === '' || detailType.length > 128)
    return invalid('Parameter DetailType is not valid. Reason: DetailType is a required argument.')
  return isJsonObject(detail) ? undefined : { code: 'MalformedDetail', message: 'Detail is malformed.' }
}

function isJsonObject(detail: string): boolean {
  try {
    const value: unknown = JSON.parse(detail)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function createEventBus(input: Input, { world, region }: Call): object {
  const name = text(input, 'Name') ?? ''
  if (!/^[/.\-_A-Za-z0-9]{1,256}$/.test(name)) {
    throw constraintBroken('name', 'satisfy regular expression pattern: [/\\.\\-_A-Za-z0-9]+')
  }
  if (world.findResource({ service: 'events', name, region }) !== undefined) {
    throw new AwsError('ResourceAlreadyExistsException', `Event bus ${name} already exists.`)
  }
  return { EventBusArn: world.addResource({ service: 'events', name, region }).arn }
}

function describeEventBus(input: Input, call: Call): object {
  const { spec, arn } = findBus(text(input, 'Name') ?? 'default', call)
  return { Name: spec.name, Arn: arn }
}

const nameOf = (bus: string): string => bus.split(':event-bus/').at(-1)!

function findBus(named: string, { world, region }: Call): Resource {
  const bus = world.findResource({ service: 'events', name: nameOf(named), region })
  if (bus !== undefined && (bus.arn === named || bus.spec.name === named)) return bus
  throw resourceNotFound(`Event bus ${nameOf(named)} does not exist.`)
}

/** The entries of a request may name several buses; faults are chosen by the first. */
const busName = (input: Input): string => {
  const named = text(list(input, 'Entries')?.[0] ?? {}, 'EventBusName') ?? text(input, 'Name')
  return nameOf(named ?? 'default')
}

export const eventBridge: Service = {
  name: 'events',
  targetPrefix: 'AWSEvents',
  resourceOf: busName,
  operations: {
    PutEvents: putEvents,
    CreateEventBus: createEventBus,
    DeleteEventBus: (input, call) =>
      void call.world.removeResource(findBus(text(input, 'Name') ?? '', call).spec),
    DescribeEventBus: describeEventBus,
  },
}
