/**
 * What programs between a proxy and its log file put around a line: Kubernetes' container runtimes (CRI), Docker's `json-file` driver,
 * `journalctl -o json`, daemons of syslog, and what `docker compose logs` and `kubectl logs` show before a line. Runtimes cut long lines into parts, which are put together here.
 */
import { lineBytesMax, type RawLine } from './line-splitter.js'
import { syslogText } from './syslog/message.js'

/** `2026-11-20T10:00:00.123456789Z stdout F text`; `P` if the line goes on (Kubernetes: pkg/kubelet/kuberuntime/logs). */
const criForm =
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (?<stream>stdout|stderr) (?<tags>[A-Z][\w:]*) ?(?<text>.*)$/s

/** `{"log":"text\n","stream":"stdout","time":"…"}`: without `\n`, the line goes on (Moby: daemon/logger/jsonfilelog). */
const dockerStart = '{"log":"'

/** `web-1  | text`, and `[pod/web-1/nginx] text` (`kubectl logs --prefix`). */
const shownBefore = /^(?:[\w.-]+ +\| |\[pod\/[^\]\s]+\] )/

/**
 * What `journalctl -o json` has in each line; older versions put a space before the colon. Within a text of JSON, there would be a backslash
 * before such quotes.
 */
const journalMembers = [/"MESSAGE" ?:/, /"__REALTIME_TIMESTAMP" ?:/] as const

/** What `-o json-seq` (RFC 7464) and `-o json-sse` put before each entry. */
const journalMarks = ['\u001e', 'data: ']

/** The message of an entry of the journal: a text, or a list of bytes if it is not all text. Other lines stay as they are. */
function journalText(raw: string): string {
  const mark = journalMarks.find((each) => raw.startsWith(`${each}{`)) ?? ''
  const line = raw.slice(mark.length)
  if (!line.startsWith('{') || !journalMembers.every((member) => member.test(line))) return raw
  try {
    const { MESSAGE: message } = JSON.parse(line) as Record<string, unknown>
    if (Array.isArray(message)) return Buffer.from(message as number[]).toString()
    return typeof message === 'string' ? message : raw
  } catch {
    // The format says what is wrong with it.
    return raw
  }
}

const textIn = (line: string): string => syslogText(journalText(line.replace(shownBefore, '')))

interface Part {
  /** Parts of the same stream belong together. */
  readonly stream: string
  readonly text: string
  readonly isLast: boolean
}

function partOf(line: string): Part | undefined {
  if (line.startsWith(dockerStart)) return dockerPart(line)
  const { stream, tags, text } = criForm.exec(line)?.groups ?? {}
  if (stream === undefined || tags === undefined || text === undefined) return undefined
  return { stream, text, isLast: tags.split(':')[0] !== 'P' }
}

function dockerPart(line: string): Part | undefined {
  try {
    const { log, stream, time } = JSON.parse(line) as Record<string, unknown>
    const isDocker = (stream === 'stdout' || stream === 'stderr') && typeof time === 'string'
    if (!isDocker || typeof log !== 'string') return undefined
    return { stream, text: log.replace(/\r?\n$/, ''), isLast: log.endsWith('\n') }
  } catch {
    // The format says what is wrong with it.
    return undefined
  }
}

interface Begun<L> {
  readonly first: L
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

  /** Does a line wait for its other parts? */
  get isWaiting(): boolean {
    return this.#begun.size > 0
  }

  /** The lines that end with this one, each with the other members of its first part: none if it goes on. */
  *open(line: L): Generator<L> {
    for (const [stream, begun] of this.#begun) {
      begun.age += 1
      if (begun.age <= ageMax) continue
      this.#begun.delete(stream)
      yield whole(begun)
    }
    // One that is too long has no end to look at.
    const part = line.isTooLong ? undefined : partOf(line.text)
    if (part === undefined) yield line.isTooLong ? line : { ...line, text: textIn(line.text) }
    else yield* this.#add(part, line)
  }

  /** What has begun when no more lines come. */
  *rest(): Generator<L> {
    const left = [...this.#begun.values()]
    this.#begun.clear()
    for (const begun of left) yield whole(begun)
  }

  *#add({ stream, text, isLast }: Part, line: L): Generator<L> {
    const begun = this.#begun.get(stream) ?? { first: line, texts: [], chars: 0, age: 0 }
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

const whole = <L extends RawLine>({ first, texts, chars }: Begun<L>): L => ({
  ...first,
  text: texts.join(''),
  isTooLong: chars > lineBytesMax,
})
