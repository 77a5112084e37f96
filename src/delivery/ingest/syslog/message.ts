/**
 * The heads that syslog puts before a text: of RFC 5424, of RFC 3164 as it is spoken, and what a syslog daemon writes to a
 * file, without the priority. Senders leave out the host (nginx: `nohostname`) or the tag, and newer ones write the time as
 * RFC 3339 does (rsyslog's `RSYSLOG_ForwardFormat` and `RSYSLOG_FileFormat`).
 */

/** `1 2026-11-20T10:00:00Z host app 12 - - text`, with or without structured data. */
const rfc5424 =
  /^(?:<\d{1,3}>)?1 (?:-|(?<time>\d{4}-\d\d-\d\dT\S+)) \S+ \S+ \S+ \S+ (?:-|(?:\[(?:[^\]\\"]|\\.|"(?:[^"\\]|\\.)*")*\])+)(?: \uFEFF?(?<text>[\s\S]*))?$/

const priority = String.raw`<\d{1,3}>`
/** `Nov 20 10:00:00`, with a year as network devices write it, or with fractions of a second. */
const oldTime = String.raw`[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d+)?`
/** Older versions of journalctl (`-o short-iso`) write no colon in a zone. */
const newTime = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)`
const timeOf = (group: string): string => `(?<${group}>${oldTime}|${newTime})`
/** `-o short-full`, `short-unix` and `short-monotonic` of journalctl. */
const journalTime = String.raw`(?<journalTime>[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \S+|\d{9,10}\.\d{6}|\[ *\d+\.\d{6}\])`
/**
 * How a text begins before which neither a host nor a tag can stand by mistake: JSON, Envoy's text, HAProxy's, or CLF with a
 * host. rsyslog has a second space for a tag that is missing. What may be a host before CLF belongs to it.
 */
const begins = String.raw`(?= ?(?:\{|\[\d{4}-|[^\s"{}[\]]+:(?:\d+|-) \[\d\d/|[\w.:-]+ [\da-fA-F.:]+ \S+ [^"]*?\[\d\d/))`
/**
 * `haproxy[12]: `; an address with a port is none. Forwarding a message of RFC 5424, rsyslog leaves out the colon, which is
 * a tag only behind a host and before such a text if it has no number, either.
 */
const tag = String.raw`[\w./@+-]+(?:\[[^\]\s]*\]:?|:)(?: |$|${begins})`
const bareTag = String.raw`[\w./@+-]+ ${begins}`
const host = String.raw`(?!${tag})[\w.:-]+ (?=${tag}|${bareTag}|${begins})`

/**
 * `<134>Nov 20 10:00:00 host haproxy[12]: text`. Without the priority, as in a file, the time comes first: no proxy begins
 * its own lines with such a time.
 */
const rfc3164 = new RegExp(
  String.raw`^(?:${priority}(?:${timeOf('sentTime')} )?(?:${host})?|${timeOf('fileTime')} (?:${host})?|${journalTime} ${host})(?:${tag}|${bareTag})?(?<text>[\s\S]*)$`,
)

/** Prefixes of JSON in syslog (https://github.com/rsyslog/liblognorm, mmjsonparse). */
const cookie = /^\s*@cee:\s*/

export interface SyslogMessage {
  readonly text: string
  /** As its head says it. */
  readonly loggedAt?: string | undefined
}

/** The text of a message without its head, and the time of the head. A text without a head is returned as it is. */
export function syslogMessage(message: string): SyslogMessage {
  const match = rfc5424.exec(message) ?? rfc3164.exec(message)
  if (match === null) return { text: message.trimEnd() }
  const { text = '', time, sentTime, fileTime, journalTime } = match.groups ?? {}
  return { text: text.replace(cookie, '').trim(), loggedAt: time ?? sentTime ?? fileTime ?? journalTime }
}
