/** Where `weir publish` reads lines: standard input, a file that is followed, or syslog. */
import { existsSync, fstatSync, mkdirSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { followFile } from '../../../delivery/ingest/followed-file.js'
import type { FramedLine } from '../../../delivery/ingest/lines/format.js'
import { LineSplitter, type RawLine } from '../../../delivery/ingest/lines/line-splitter.js'
import { LogEnvelopes } from '../../../delivery/ingest/log-envelope.js'
import type { FollowedLine, Position } from '../../../delivery/ingest/log-file.js'
import { SyslogServer } from '../../../delivery/ingest/syslog/server.js'
import { readIfPresent, writeWhole } from '../../../delivery/nats-server/files.js'
import { every } from '../../../ground/core/clock.js'
import { StartFault } from '../../../ground/core/errors.js'
import { hash128, newId } from '../../../ground/core/ids.js'
import type { Settings } from '../../../management/process/settings.js'
import { UsageFault } from '../guide/exit-codes.js'
import type { Place } from './publish-progress.js'
import type { Report } from './publish-report.js'

export interface PublishOptions {
  readonly format: string
  readonly file?: string
  readonly position?: string
  readonly fromEnd?: true
  readonly untilEnd?: true
  readonly history?: true
  readonly deliver?: true
  readonly syslog?: string
  readonly serverName?: string
  readonly serverPort?: string
  readonly caddyDuration?: string
  readonly edge?: string
  readonly account?: string
  readonly node?: string
  readonly traceparent?: string
  readonly rejects?: string
  readonly json?: true
  readonly check?: string | true
}

/** A line, and where it came from. */
export interface Source extends FramedLine {
  readonly isTooLong?: boolean
  /** Names the line: the same line has the same name after a restart. */
  readonly name: string
  /** Called when its record is stored, or the line refused for good. */
  readonly done?: () => void
}

const savedEveryMs = 500

/** Lines come in lists, because each wait costs as much as a line: those of a chunk of bytes are one. */
export function sourcesOf(
  options: PublishOptions,
  settings: Settings,
  node: string,
  signal: AbortSignal,
  report: Report,
): AsyncIterable<readonly Source[]> {
  const { file, syslog } = options
  if (file !== undefined && syslog !== undefined)
    throw new UsageFault('--file and --syslog are two sources: give one of them.')
  if (file !== undefined) return fileLines(resolve(file), options, settings, node, signal, report)
  if (options.position !== undefined || options.fromEnd || options.untilEnd)
    throw new UsageFault('--position, --from-end and --until-end belong to --file.')
  return syslog === undefined ? inputLines(signal, report) : syslogLines(syslog, signal, report)
}

/** Also if it is aborted already. */
function onAbort(signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call()
  else signal.addEventListener('abort', call, { once: true })
}

/** The size of standard input, if the shell opened a file for it. */
function inputSize(): { readonly isFile: boolean; readonly size: number } {
  const stats = fstatSync(0)
  return { isFile: stats.isFile(), size: stats.size }
}

/** Standard input, until it ends. */
async function* inputLines(signal: AbortSignal, report: Report): AsyncGenerator<readonly Source[]> {
  const run = newId('')
  let count = 0
  const splitter = new LineSplitter()
  let offset = 0
  const { size, isFile } = inputSize()
  if (isFile) report.reads(() => ({ offset, size }))
  onAbort(signal, () => process.stdin.destroy())
  const envelopes = new LogEnvelopes<RawLine>()
  function* named(lines: Iterable<RawLine & FramedLine>): Generator<Source> {
    for (const line of lines) {
      count += 1
      if (line.text.trim() !== '') yield { ...line, name: `${run} ${count}` }
    }
  }
  try {
    for await (const chunk of process.stdin) {
      offset += (chunk as Buffer).length
      const lines: Source[] = []
      for (const line of splitter.push(chunk as Buffer)) lines.push(...named(envelopes.open(line)))
      yield lines
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  const last = splitter.rest()
  if (last !== undefined) yield [...named(envelopes.open(last))]
  yield [...named(envelopes.rest())]
}

async function* syslogLines(
  address: string,
  signal: AbortSignal,
  report: Report,
): AsyncGenerator<readonly Source[]> {
  const { 1: host, 2: port } = /^(?:\[?([^\]]*)\]?:)?(\d+)$/.exec(address) ?? []
  if (port === undefined || Number(port) > 65_535)
    throw new UsageFault(
      `--syslog is "${address}"; it must be an address with a port, such as 127.0.0.1:5140.`,
    )
  const server = new SyslogServer({
    host: host || '127.0.0.1',
    port: Number(port),
    note: (text) => report.note(text),
    lost: (messages) => report.lose(messages),
  })
  report.note(`Syslog is taken on ${host || '127.0.0.1'}:${await server.open()}, over UDP and TCP.`)
  onAbort(signal, () => server.close())
  const run = newId('')
  let count = 0
  for await (const message of server.lines()) {
    count += 1
    if (message.text.trim() !== '') yield [{ ...message, name: `${run} ${count}` }]
  }
}

async function* fileLines(
  path: string,
  options: PublishOptions,
  { data }: Settings,
  node: string,
  signal: AbortSignal,
  report: Report,
): AsyncGenerator<readonly Source[]> {
  const dir = join(data.dir, 'positions')
  const saved = options.position ?? join(dir, `${basename(path)}-${hash128(path).slice(0, 8)}.json`)
  if (options.position === undefined) mkdirSync(dir, { recursive: true, mode: 0o700 })
  let reached: (() => Position) | undefined
  const doneAt = (line: FollowedLine) => (): void => {
    reached = line.position
  }
  const write = (position: Position): void => writeWhole(saved, `${JSON.stringify(position)}\n`)
  const save = (): void => {
    if (reached !== undefined) write(reached())
    reached = undefined
  }
  const timer = every(savedEveryMs, save)
  try {
    const from = readPosition(saved)
    const { fromEnd = false, untilEnd = false } = options
    if (!existsSync(path)) {
      if (untilEnd) throw new StartFault(`${path} does not exist.`)
      report.note(`${path} does not exist yet: it is waited for.`)
    }
    const note = (text: string): void => report.note(text)
    const how = { from, fromEnd, untilEnd, begins: write, signal, note }
    const envelopes = new LogEnvelopes<FollowedLine>()
    const named = (line: FollowedLine & FramedLine) => ({ ...line, name: `${node} ${path} ${line.offset}` })
    let last: FollowedLine | undefined
    report.reads(() => last && placeIn(path, last.position()))
    for await (const lines of followFile(path, how)) {
      const sources: Source[] = []
      for (const line of lines) {
        last = line
        for (const inside of envelopes.open(line)) {
          // The position stays before a line that has only begun.
          const isLast = !envelopes.isWaiting
          if (inside.text.trim() !== '')
            sources.push(isLast ? { ...named(inside), done: doneAt(line) } : named(inside))
        }
      }
      yield sources
    }
    if (signal.aborted || last === undefined) return
    const done = doneAt(last)
    yield [...envelopes.rest()].map((inside) => ({ ...named(inside), done }))
  } finally {
    timer.stop()
    report.atEnd(save)
  }
}

/** Nothing is known of a part of the log that has another name by now, or is compressed. */
function placeIn(path: string, { inode, offset }: Position): Place | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.ino !== inode || offset > stats.size) return undefined
  return { offset, size: stats.size }
}

function readPosition(path: string): Position | undefined {
  const text = readIfPresent(path)
  if (text === undefined) return undefined
  try {
    const { offset, head, inode, readMs } = JSON.parse(text) as Position
    // Older versions did not write when the log was read: shortly before they wrote the position.
    if (Number.isSafeInteger(offset) && offset >= 0 && typeof head === 'string')
      return { offset, head, inode, readMs: readMs ?? statSync(path).mtimeMs }
  } catch {
    // Said below.
  }
  throw new StartFault(`${path} is not a position file: delete it to begin again.`)
}
