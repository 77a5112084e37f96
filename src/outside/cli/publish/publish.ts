/** `weir publish`: lines of a proxy's log, from standard input, a file or syslog, become records in NATS. */
import { hostname } from 'node:os'
import { formats } from '../../../delivery/ingest/formats.js'
import { durationUnits } from '../../../delivery/ingest/lines/duration-unit.js'
import { type Format, type Given, recordOfLine } from '../../../delivery/ingest/lines/format.js'
import { lineBytesMax } from '../../../delivery/ingest/lines/line-splitter.js'
import { PublishedNames } from '../../../delivery/ingest/published-names.js'
import { RecordPublisher } from '../../../delivery/ingest/record-publisher.js'
import { encodedRecords } from '../../../delivery/record/record-encoding.js'
import { parseHost } from '../../../ground/core/address/host-name.js'
import { after, sleep } from '../../../ground/core/clock.js'
import { problem, type Result } from '../../../ground/core/errors.js'
import { hash128 } from '../../../ground/core/ids.js'
import { payloadHeadroomBytes } from '../../../ground/core/limits.js'
import { contextHeaders, contextIn, type TraceContext } from '../../../ground/core/telemetry/tracing.js'
import { type Nats, openNats } from '../../../ground/nats/nats.js'
import { stopSignal } from '../../../management/process/child.js'
import { NoAnswer, readRuntime } from '../../../management/process/running-service.js'
import type { Settings } from '../../../management/process/settings.js'
import { natsFiles } from '../../../management/process/tls-files.js'
import { UsageFault } from '../guide/exit-codes.js'
import { checkSample } from './publish-check.js'
import { Report, rejectsFile } from './publish-report.js'
import { type PublishOptions, type Source, sourcesOf } from './publish-sources.js'

/** Whether an edge serves a name is known within this time, or not at all. */
const askMs = 2_000
/** A stop waits this long for NATS. */
const stopMs = 10_000
/** Then a person should know what is waited for. */
const slowMs = 3_000

/** Resolves with the exit code. */
export async function publish(settings: Settings, options: PublishOptions): Promise<number> {
  if (options.format === 'list') {
    for (const { name, about } of formats)
      process.stdout.write(`${options.json ? JSON.stringify({ name, about }) : name.padEnd(10) + about}\n`)
    return 0
  }
  const format = formatNamed(options.format)
  const given = givenBy(options)
  const history = historyFor(options)
  const trace = traceFor(options)
  const { check } = options
  if (check !== undefined)
    return checkSample({ format, given, path: check === true ? '-' : check, isJson: options.json ?? false })
  const stop = new AbortController()
  const stopped = stopSignal().then(() => stop.abort())
  const node = nodeName(options.node)
  const { servers, url } = serversOf(settings)
  const report = new Report(format.name, await rejectsFile(options.rejects))
  const files = { ...natsFiles(settings.nats), url }
  let because = ''
  const unreachable = (reason: string): void => {
    because = ` (${reason})`
  }
  const slow = after(slowMs, () =>
    report.note(`NATS does not answer yet${because}: it is tried again until it does.`),
  )
  const name = `weir publish ${node}`
  const nats = await Promise.race([openNats({ servers, files, replicas: 1, name, unreachable }), stopped])
  slow.stop()
  if (nats === undefined) {
    report.note('Stopped before NATS answered: nothing was published.')
    // Its connection would be tried for ever.
    process.exit(1)
  }
  const publisher = publisherOn(nats, node, history, trace)
  const names = new PublishedNames({
    ask: (subject, question) => nats.request(subject, question, askMs),
    accountId: options.account,
    report,
  })
  try {
    const doubt = (sentence: string): void => report.doubt(sentence)
    const taken = (source: Source): Promise<void> | undefined => {
      const { text, name, isTooLong } = source
      const record = isTooLong
        ? tooLong
        : recordOfLine(format, source, given, hash128(name, text), doubt, names.add)
      return take(source, record, publisher, report)
    }
    for await (const sources of sourcesOf(options, settings, node, stop.signal, report)) {
      for (const source of sources) {
        report.read += 1
        const room = taken(source)
        if (room !== undefined) await Promise.race([room, stopped])
        if (stop.signal.aborted) break
      }
      // Lines that were read are still published, see `flushed`.
      if (stop.signal.aborted) break
    }
    const isAllStored = await flushed(publisher, stop.signal)
    if (isAllStored) await names.end()
    if (options.json) process.stdout.write(`${report.json()}\n`)
    return report.end(isAllStored)
  } finally {
    names.close()
    await closed(nats, report)
  }
}

const tooLong = problem(`It has more than ${lineBytesMax} bytes.`)

/** If there is no room for more, the result resolves when there is. */
function take(
  { text, done }: Source,
  record: Result<string>,
  publisher: RecordPublisher,
  report: Report,
): Promise<void> | undefined {
  if (record.ok)
    return publisher.add(record.value, () => {
      report.stored += 1
      done?.()
    })
  return report.refuse(text, record.problem).then(() => publisher.after(() => done?.()))
}

/** Is all stored? After a stop, this does not wait for a NATS that is away. */
async function flushed(publisher: RecordPublisher, stopped: AbortSignal): Promise<boolean> {
  const flush = publisher.flush().then(() => true)
  if (!stopped.aborted) {
    const stop = new Promise<void>((resolve) => stopped.addEventListener('abort', () => resolve()))
    const first = await Promise.race([flush, stop])
    if (first !== undefined) return first
  }
  const waiting = new AbortController()
  const isStored = await Promise.race([flush, sleep(stopMs, waiting.signal).then(() => false)])
  waiting.abort()
  return isStored
}

async function closed(nats: Nats, report: Report): Promise<void> {
  await report.close()
  await nats.close()
}

function formatNamed(name: string): Format {
  const format = formats.find((each) => each.name === name)
  if (format === undefined)
    throw new UsageFault(`There is no format "${name}": ${formats.map((each) => each.name).join(', ')}.`)
  return format
}

const publisherOn = (
  nats: Nats,
  node: string,
  history: 'log' | 'deliver' | undefined,
  trace: TraceContext | undefined,
): RecordPublisher =>
  new RecordPublisher({
    publish: (message, id) => {
      const { data, headers: ofRecords } = encodedRecords(message, history)
      const headers = { ...ofRecords, ...contextHeaders(trace) }
      // The same lines may have been published as those of now.
      const msgId = history === undefined ? id : `${history} ${id}`
      return nats.publish(`weir.records.publish.${node}`, data, { msgId, headers })
    },
    messageBytesMax: nats.payloadBytesMax - payloadHeadroomBytes,
  })

function historyFor({ history, deliver }: PublishOptions): 'log' | 'deliver' | undefined {
  if (history) return deliver ? 'deliver' : 'log'
  if (deliver) throw new UsageFault('--deliver belongs to --history: other records are delivered anyway.')
  return undefined
}

function traceFor({ traceparent }: PublishOptions): TraceContext | undefined {
  if (traceparent === undefined) return undefined
  const trace = contextIn({ get: (name) => (name === 'traceparent' ? traceparent : '') })
  if (trace !== undefined) return trace
  throw new UsageFault(
    `--traceparent is "${traceparent}"; it must be as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.`,
  )
}

const accountForm = /^ac_[0-9A-Z]{26}$/
const edgeForm = /^edg(tcp|hts)_[0-9A-Z]{26}$/

function givenBy({ serverName, serverPort, edge, account, caddyDuration }: PublishOptions): Given {
  const port = serverPort === undefined ? undefined : Number(serverPort)
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535))
    throw new UsageFault(`--server-port is "${serverPort}"; it must be a port from 1 to 65535.`)
  if (serverName !== undefined && !parseHost(serverName).ok)
    throw new UsageFault(`--server-name is "${serverName}"; it must be a name or an address, without a port.`)
  if (edge !== undefined && !edgeForm.test(edge))
    throw new UsageFault(`--edge is "${edge}"; it must be the id of an edge: edghts_… or edgtcp_….`)
  if (account !== undefined && !accountForm.test(account))
    throw new UsageFault(`--account is "${account}"; it must be the id of an account: ac_….`)
  const unit = durationUnits.find((each) => each === caddyDuration)
  if (caddyDuration !== undefined && unit === undefined)
    throw new UsageFault(
      `--caddy-duration is "${caddyDuration}"; it must be one of ${durationUnits.join(', ')}.`,
    )
  return {
    ...(serverName === undefined ? {} : { serverName }),
    ...(port === undefined ? {} : { serverPort: port }),
    ...(edge === undefined ? {} : { edgeId: edge }),
    ...(account === undefined ? {} : { accountId: account }),
    ...(unit === undefined ? {} : { caddyDuration: unit }),
  }
}

/** A part of a subject of NATS: without dots, spaces and wildcards. */
const nodeName = (name = hostname()): string => name.replaceAll(/[^\w-]/g, '-').slice(0, 64)

/** `url`: the file that has them, if they are from one. */
function serversOf({ nats, data }: Settings): {
  readonly servers: readonly string[]
  readonly url?: string | undefined
} {
  if (nats.servers !== undefined) return { servers: nats.servers, url: nats.urlFile }
  const running = readRuntime(data.dir)
  if (running === undefined)
    throw new NoAnswer(
      `No service runs on ${data.dir}: set WEIR_DATA_DIR, or NATS_URL to the address for ingress nodes.`,
    )
  const { natsUrl, natsUrlFile: url } = running
  return { servers: [natsUrl], url }
}
