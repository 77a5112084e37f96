import { ok, problem, type Result } from '../../core/errors.js'
import { withoutBackslashes } from '../escapes.js'
import type { Format, Logged, Writer } from '../format.js'
import { LineForm } from '../line-form.js'
import { logTime } from '../log-time.js'
import { requestParts } from '../request-line.js'
import { splitAddress } from '../values.js'

const writer: Writer = {
  program: 'Apache httpd',
  escapes:
    'Bytes, not characters: `\\"` and `\\\\`; `\\b`, `\\n`, `\\r`, `\\t`, `\\v`; others below 32 and from 127 on as `\\xc3` (in request, headers, and the user name). Spaces stay.',
  nothing:
    '`-`; `""` for an empty user name; `-` for a status that is not known, and for a body (`%b`) of no bytes, which is read as 0.',
  client:
    '`%h` and `%a` are the peer, or whom mod_remoteip found: with `RemoteIPInternalProxy` or `RemoteIPTrustedProxy`, the last address of `RemoteIPHeader` that is none of these. With `HostnameLookups On`, `%h` is a name, and the line is refused. `%v:%p` and `%v` are the server name as configured, not as asked.',
  times: '`%t` is when the request was received, in seconds, with its zone.',
  lost: "The host that was asked for, scheme and port of the client, unless added before it. Debian's `combined` has `%O`, which counts headers, too. A user name `-`. A request line that Apache refuses is logged as far as it was read.",
  sources: [
    'https://httpd.apache.org/docs/2.4/mod/mod_log_config.html',
    'https://httpd.apache.org/docs/2.4/mod/mod_remoteip.html',
    'server/util.c (ap_escape_logitem), modules/loggers/mod_log_config.c (log_remote_user, clf_log_bytes_sent)',
  ],
}

/** A text in quotes; quotes in it are escaped. */
const quoted = (name: string): string => String.raw`"(?<${name}>(?:[^"\\]|\\.)*)"`

const form = new LineForm('a line of the Common or Combined Log Format', [
  // A user name may have brackets and spaces, but no quote: the time is what stands before the first of them.
  {
    what: 'a time in brackets behind client and user',
    form: String.raw`(?<who>.*?) \[(?<time>[^\][]+)\](?= ")`,
  },
  { what: 'the request in quotes', form: ` ${quoted('request')}` },
  { what: 'a status', form: String.raw` (?<status>\d{3}|-)` },
  { what: 'a number of bytes', form: String.raw` (?<bytes>\d+|-)` },
  { what: 'the referrer', form: `(?: ${quoted('referer')} ${quoted('agent')})?` },
  // nginx's usual `main` has more behind it, as other programs do.
  { what: 'a space', form: '(?: .*)?' },
])

/** `192.0.2.1 - alice [10/Oct/2026:13:55:36 +0000] "GET /a HTTP/1.1" 200 2326 "https://example.com/" "curl/8"` */
export const combined: Format = {
  name: 'combined',
  about:
    'the Common or Combined Log Format of Apache and nginx, also with a host before it; --server-name if it has none',
  writers: [writer],
  read(line) {
    const read = form.read(line)
    if (!read.ok) return read
    const { who = '', time = '', request, status, bytes, agent } = read.value
    const said = whoIn(who)
    if (!said.ok) return said
    return ok({
      ...said.value,
      start: logTime(time),
      status,
      // Apache writes so that no byte was sent.
      response_bytes: bytes === '-' ? 0 : bytes,
      ...requestParts(withoutBackslashes(request ?? '')),
      user_agent: withoutBackslashes(agent ?? ''),
    })
  },
}

/** `203.0.113.9, 198.51.100.7` in place of an address, as a proxy was sent it: all but the last one. */
const othersInList = /^([^\s,]+ )?(?:[^\s,]+, ?)+/

/**
 * `client identity user`, or a host before it, with or without its port. No program has an address for an identity, so a
 * second word that is one is the client.
 */
function whoIn(text: string): Result<Pick<Logged, 'host' | 'client' | 'username'>> {
  const words = text.replace(othersInList, '$1').split(' ')
  const hasHost = splitAddress(words[1]) !== undefined
  const host = hasHost ? words.shift() : undefined
  const [client, identity, ...user] = words
  if (identity === undefined || user.length === 0)
    return problem(
      'It is not a line of the Common or Combined Log Format: client, identity and user are missing.',
    )
  return ok({ host: hostIn(host), client, username: userIn(user.join(' ')) })
}

/** nginx has this name for a server that takes any. */
const hostIn = (host: string | undefined): string | undefined => (host === '_' ? undefined : host)

/** Apache writes `""` for an empty name, and a quote of a client with a backslash. */
const userIn = (user: string): string | undefined => (user === '""' ? undefined : withoutBackslashes(user))
