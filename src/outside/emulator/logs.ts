/** CloudWatch Logs: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/ */
import { AwsError, constraintBroken, resourceNotFound } from './aws-error.js'
import { throttled } from './fault-book.js'
import type { Arrival } from './ledger.js'
import { type Call, type Input, list, number, type Service, text } from './operation.js'
import type { Resource } from './world.js'

const eventsMax = 10_000
const requestBytesMax = 1_048_576
const eventOverheadBytes = 26
const hourMs = 3_600_000
const spanMaxMs = 24 * hourMs
const ageMaxMs = 14 * 24 * hourMs
const aheadMaxMs = 2 * hourMs

const invalid = (message: string): AwsError => new AwsError('InvalidParameterException', message)
const broken = (field: string, constraint: string): AwsError =>
  constraintBroken(field, constraint, 'InvalidParameterException')

interface LogEvent {
  readonly message: string
  readonly timestampMs: number
  readonly bytes: number
}

function putLogEvents(input: Input, call: Call): object {
  const group = findGroup(input, call)
  const logStream = findStream(input, group)
  const events = parseEvents(input)
  call.world.faults.checkPoison(call.target, () => events.map(({ message }) => message))
  const bytes = events.reduce((sum, event) => sum + event.bytes, 0)
  if (!group.windows[0]!.take(group.spec, call.nowMs, 1, events.length, bytes)) throw throttled('logs')
  const tooOld = events.filter(({ timestampMs }) => timestampMs < call.nowMs - ageMaxMs).length
  const tooNew = events.filter(({ timestampMs }) => timestampMs > call.nowMs + aheadMaxMs).length
  const { requestId, nowMs: atMs } = call
  for (const { message: data, bytes, timestampMs } of events.slice(tooOld, events.length - tooNew)) {
    group.ledger.add({ data, encoding: 'utf8', bytes, requestId, atMs, logStream, timestampMs })
  }
  call.world.countRecords('logs.PutLogEvents', events.length - tooOld - tooNew, tooOld + tooNew)
  const rejected = {
    ...(tooOld > 0 && { tooOldLogEventEndIndex: tooOld }),
    ...(tooNew > 0 && { tooNewLogEventStartIndex: events.length - tooNew }),
  }
  const nextSequenceToken = '49590302'
  return tooOld + tooNew > 0 ? { nextSequenceToken, rejectedLogEventsInfo: rejected } : { nextSequenceToken }
}

function parseEvents(input: Input): LogEvent[] {
  const given = list(input, 'logEvents') ?? []
  if (given.length < 1 || given.length > eventsMax) {
    throw broken('logEvents', `have length between 1 and ${eventsMax}`)
  }
  const events = given.map(parseEvent)
  const bytes = events.reduce((sum, event) => sum + event.bytes, 0)
  if (bytes > requestBytesMax)
    throw invalid(`Upload too large: ${bytes} bytes exceeds limit of ${requestBytesMax}`)
  if (events.some(({ timestampMs }, index) => timestampMs < (events[index - 1]?.timestampMs ?? 0))) {
    throw invalid('Log events in a single PutLogEvents request must be in chronological order.')
  }
  if (events.at(-1)!.timestampMs - events[0]!.timestampMs > spanMaxMs) {
    throw invalid('The batch of log events in a single PutLogEvents request cannot span more than 24 hours.')
  }
  return events
}

function parseEvent(event: Input, index: number): LogEvent {
  const field = `logEvents.${index + 1}.member`
  const message = text(event, 'message')
  const timestampMs = number(event, 'timestamp')
  if (message === undefined || message === '') {
    throw broken(`${field}.message`, 'have length greater than or equal to 1')
  }
  if (timestampMs === undefined || timestampMs < 0 || !Number.isInteger(timestampMs)) {
    throw broken(`${field}.timestamp`, 'have value greater than or equal to 0')
  }
  const bytes = Buffer.byteLength(message) + eventOverheadBytes
  if (bytes > requestBytesMax) {
    throw invalid(`Log event too large: ${bytes} bytes exceeds limit of ${requestBytesMax}`)
  }
  return { message, timestampMs, bytes }
}

function createLogGroup(input: Input, call: Call): undefined {
  const name = text(input, 'logGroupName') ?? ''
  const { region, world } = call
  if (!/^[.\-_/#A-Za-z0-9]{1,512}$/.test(name)) {
    throw broken('logGroupName', 'satisfy regular expression pattern: [\\.\\-_/#A-Za-z0-9]+')
  }
  if (world.findResource({ service: 'logs', name, region }) !== undefined) {
    throw new AwsError('ResourceAlreadyExistsException', 'The specified log group already exists')
  }
  world.addResource({ service: 'logs', name, region })
}

function createLogStream(input: Input, call: Call): undefined {
  const group = findGroup(input, call)
  const name = text(input, 'logStreamName') ?? ''
  if (!/^[^:*]{1,512}$/.test(name)) {
    throw broken('logStreamName', 'satisfy regular expression pattern: [^:*]*')
  }
  if (group.logStreams.has(name)) {
    throw new AwsError('ResourceAlreadyExistsException', 'The specified log stream already exists')
  }
  group.logStreams.set(name, call.nowMs)
}

function describeLogStreams(input: Input, call: Call): object {
  const { logStreams, arn } = findGroup(input, call)
  const prefix = text(input, 'logStreamNamePrefix') ?? ''
  const named = [...logStreams].filter(([name]) => name.startsWith(prefix)).sort()
  const described = named.map(([name, createdAtMs]) => ({
    logStreamName: name,
    creationTime: createdAtMs,
    arn: `${arn}:log-stream:${name}`,
    storedBytes: 0,
  }))
  return { logStreams: described }
}

function getLogEvents(input: Input, call: Call): object {
  const group = findGroup(input, call)
  const logStream = findStream(input, group)
  const events = group.ledger.arrivals().filter((arrival) => arrival.logStream === logStream)
  return { events: events.map(shown), nextForwardToken: 'f/1', nextBackwardToken: 'b/1' }
}

/** Every event of the group, or those that contain the pattern as plain text. */
function filterLogEvents(input: Input, call: Call): object {
  const pattern = (text(input, 'filterPattern') ?? '').replaceAll('"', '')
  const matching = findGroup(input, call)
    .ledger.arrivals()
    .filter(({ data }) => data.includes(pattern))
  const events = matching.map((arrival, index) => ({
    ...shown(arrival),
    logStreamName: arrival.logStream,
    eventId: `${index}`,
  }))
  return { events, searchedLogStreams: [] }
}

const shown = ({ data, timestampMs, atMs }: Arrival): object => ({
  message: data,
  timestamp: timestampMs,
  ingestionTime: atMs,
})

const groupName = (input: Input): string =>
  text(input, 'logGroupName') ??
  /:log-group:([^:]+)(:\*)?$/.exec(text(input, 'logGroupIdentifier') ?? '')?.[1] ??
  ''

function findGroup(input: Input, { world, region }: Call): Resource {
  const group = world.findResource({ service: 'logs', name: groupName(input), region })
  if (group === undefined) throw resourceNotFound('The specified log group does not exist.')
  return group
}

function findStream(input: Input, { logStreams }: Resource): string {
  const name = text(input, 'logStreamName') ?? ''
  if (!logStreams.has(name)) throw resourceNotFound('The specified log stream does not exist.')
  return name
}

export const logs: Service = {
  name: 'logs',
  targetPrefix: 'Logs_20140328',
  resourceOf: groupName,
  operations: {
    PutLogEvents: putLogEvents,
    CreateLogGroup: createLogGroup,
    DeleteLogGroup: (input, call) => void call.world.removeResource(findGroup(input, call).spec),
    CreateLogStream: createLogStream,
    DescribeLogStreams: describeLogStreams,
    GetLogEvents: getLogEvents,
    FilterLogEvents: filterLogEvents,
  },
}
