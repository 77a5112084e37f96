/**
 * Envelopes, the text that programs between a proxy and its log file put around a line: Kubernetes' container runtimes
 * (CRI), Docker's `json-file` driver, `journalctl -o json` and `-o export`, daemons of syslog, and what
 * `docker compose logs` and `kubectl logs` show before a line. Runtimes cut long lines into parts, which are put together
 * here.
 */

import { JournalExport, journalTime, messageOf } from './journal-export.js'
import type { FramedLine } from './lines/format.js'
import { lineBytesMax, type RawLine } from './lines/line-splitter.js'
import { syslogMessage } from './syslog/message.js'

/** `2026-11-20T10:00:00.123456789Z stdout F text`; `P` if the line goes on (Kubernetes: pkg/kubelet/kuberuntime/logs). */
const criForm =
  /^(?<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (?<stream>stdout|stderr) (?<tags>[A-Z][\w:]*) ?(?<text>.*)$/s

/** `{"log":"text\n","stream":"stdout","time":"…"}`: without `\n`, the line goes on (Moby: daemon/logger/jsonfilelog). */
const dockerStart = '{"log":"'

/** `web-1  | text`, and `[pod/web-1/nginx] text` (`kubectl logs --prefix`). */
const shownBefore = /^(?:[\w.-]+ +\| |\[pod\/[^\]\s]+\] )/

/**
 * Members of each line of `journalctl -o json`; older versions put a space before the colon. Within a text of JSON, there
 * would be a backslash before such quotes.
 */
const journalMembers = [/"MESSAGE" ?:/, /"__REALTIME_TIMESTAMP" ?:/] as const

/** The prefixes of entries of `-o json-seq` (RFC 7464) and `-o json-sse`. */
const journalMarks = ['\u001e', 'data: ']

/**
 * The message of an entry of the journal: a text, or a list of bytes if it is not all text. Other lines stay as they are.
 */
function journalMessage(raw: string): FramedLine {
  const mark = journalMarks.find((each) => raw.startsWith(`${each}{`)) ?? ''
  const line = raw.slice(mark.length)
  if (!line.startsWith('{') || !journalMembers.every((member) => member.test(line))) return { text: raw }
  try {
    const { MESSAGE: message, ...entry } = JSON.parse(line) as Record<string, unknown>
    const text = Array.isArray(message) ? Buffer.from(message as number[]).toString() : message
    return typeof text === 'string' ? { text: messageOf(text), loggedAt: journalTime(entry) } : { text: raw }
  } catch {
    // The format says what is wrong with it.
    return { text: raw }
  }
}

/** A head within an envelope says a time that is nearer to the line. */
function withoutHead<L extends RawLine & FramedLine>(line: L): L & FramedLine {
  if (line.isTooLong) return line
  const outer = journalMessage(line.text.replace(shownBefore, ''))
  const { text, loggedAt = outer.loggedAt ?? line.loggedAt } = syslogMessage(outer.text)
  return { ...line, text, loggedAt }
}

interface Part {
  /** Parts of the same stream belong together. */
  readonly stream: string
  readonly text: string
  readonly loggedAt: string
  readonly isLast: boolean
}

function partOf(line: string): Part | undefined {
  if (line.startsWith(dockerStart)) return dockerPart(line)
  const { time: loggedAt, stream, tags, text } = criForm.exec(line)?.groups ?? {}
  if (loggedAt === undefined || stream === undefined || tags === undefined || text === undefined)
    return undefined
  return { stream, text, loggedAt, isLast: tags.split(':')[0] !== 'P' }
}

function dockerPart(line: string): Part | undefined {
  try {
    const { log, stream, time } = JSON.parse(line) as Record<string, unknown>
    const isDocker = (stream === 'stdout' || stream === 'stderr') && typeof time === 'string'
    if (!isDocker || typeof log !== 'string') return undefined
    return { stream, text: log.replace(/\r?\n$/, ''), loggedAt: time, isLast: log.endsWith('\n') }
  } catch {
    // The format says what is wrong with it.
    return undefined
  }
}

interface Begun<L> {
  /** With the time of the first part. */
  readonly first: L & FramedLine
  readonly texts: string[]
  chars: number
  /** Lines that came since, of either stream. */
  age: number
}

/** A line that goes on for so many others was never finished, such as that of a container that was killed. */
const ageMax = 1_000

/** Takes lines in their order. Made for one file or pipe. */
export class LogEnvelopes<L extends RawLine> {
  /** By stream: standard output and standard error. */
  readonly #begun = new Map<string, Begun<L>>()

  readonly #exported = new JournalExport<L>()

  /** Does a line wait for its other parts? */
  get isWaiting(): boolean {
    return this.#begun.size > 0 || this.#exported.isWaiting
  }

  /** The lines that end with this one, each with the other members of its first part: none if it goes on. */
  *open(line: L): Generator<L & FramedLine> {
    for (const [stream, begun] of this.#begun) {
      begun.age += 1
      if (begun.age <= ageMax) continue
      this.#begun.delete(stream)
      yield whole(begun)
    }
    const { isTaken, ended } = this.#exported.add(line)
    for (const message of ended) yield withoutHead(message)
    if (isTaken) return
    // One that is too long has no end to look at.
    const part = line.isTooLong ? undefined : partOf(line.text)
    if (part === undefined) yield withoutHead(line)
    else yield* this.#add(part, line)
  }

  /** The lines that have begun when no more come. */
  *rest(): Generator<L & FramedLine> {
    for (const message of this.#exported.rest()) yield withoutHead(message)
    const left = [...this.#begun.values()]
    this.#begun.clear()
    for (const begun of left) yield whole(begun)
  }

  *#add({ stream, text, loggedAt, isLast }: Part, line: L): Generator<L & FramedLine> {
    const begun = this.#begun.get(stream) ?? { first: { ...line, loggedAt }, texts: [], chars: 0, age: 0 }
    const room = Math.max(0, lineBytesMax - begun.chars)
    if (room > 0 && text !== '') begun.texts.push(text.slice(0, room))
    begun.chars += text.length
    if (isLast) {
      this.#begun.delete(stream)
      yield whole(begun)
    } else {
      this.#begun.set(stream, begun)
    }
  }
}

const whole = <L extends RawLine>({ first, texts, chars }: Begun<L>): L & FramedLine => ({
  ...first,
  text: texts.join(''),
  isTooLong: chars > lineBytesMax,
})
