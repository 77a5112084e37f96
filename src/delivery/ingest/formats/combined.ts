import { fail, ok, type Result } from '../../../ground/core/errors.js'
import { withoutBackslashes } from '../lines/escapes.js'
import type { Format, Given, Logged, Writer } from '../lines/format.js'
import { hostIn, isBareAddress } from '../lines/host-form.js'
import { LineForm } from '../lines/line-form.js'
import { logTime } from '../lines/log-time.js'
import { requestParts } from '../lines/request-line.js'
import { splitAddress, textOf } from '../lines/values.js'

const writer: Writer = {
  program: 'Apache httpd',
  escapes:
    'Bytes, not characters: `\\"` and `\\\\`; `\\b`, `\\n`, `\\r`, `\\t`, `\\v`; others below 32 and from 127 on as `\\xc3` (in request, headers, and the user name). Spaces stay.',
  nothing:
    '`-`; `""` for an empty user name; `-` for a status that is not known, and for a body (`%b`) of no bytes, which is read as 0.',
  client:
    '`%h` and `%a` are the peer, or whom mod_remoteip found: with `RemoteIPInternalProxy` or `RemoteIPTrustedProxy`, the last address of `RemoteIPHeader` that is none of these. With `HostnameLookups On`, `%h` is a name, and the line is refused. `%v:%p` and `%v` are the server name as configured, not as asked. Of two addresses, or a list and an address (`%{X-Forwarded-For}i %h`), the last one is the client.',
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
    alone: String.raw`.*? \[[^\][]+\]`,
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
  read(line, given) {
    const read = form.read(line)
    if (!read.ok) return read
    const { who = '', time = '', request, status, bytes, agent } = read.value
    const said = whoIn(who, given)
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

/** ingress-nginx before 0.24: `192.0.2.1 - [192.0.2.1] - alice`. */
const ingressForm = /^(?<client>\S+) - \[[^\][]*\] - (?<user>.*)$/

type Who = Pick<Logged, 'host' | 'client' | 'username' | 'doubt'>

/**
 * `client identity user`, or a host before it, with or without its port. No program has an address for an identity, so a
 * second word that is one is the client; before it may also be what other proxies said (`%{X-Forwarded-For}i`), which is no
 * host.
 */
function whoIn(text: string, given: Given | undefined): Result<Who> {
  const ingress = ingressForm.exec(text)?.groups
  if (ingress !== undefined) return ok({ client: ingress['client'], username: userIn(ingress['user'] ?? '') })
  const [others, host = ''] = othersInList.exec(text) ?? ['']
  const words = `${host}${text.slice(others.length)}`.split(' ')
  const [first = ''] = splitAddress(words[1]) === undefined ? [] : words.splice(0, 1)
  const [client, identity, ...user] = words
  if (identity === undefined || user.length === 0)
    return fail({
      msg: 'It is not a line of the Common or Combined Log Format: client, identity and user are missing.',
      column: text.length + 1,
    })
  if (textOf(client) === undefined)
    return fail({ msg: 'It has no address of a client.', column: text.length - words.join(' ').length + 1 })
  const isList = others !== '' && host === ''
  return ok({
    host: isList ? undefined : hostIn(first, given),
    client,
    username: userIn(user.join(' ')),
    doubt: !isList && isBareAddress(first) ? twoAddresses : undefined,
  })
}

const twoAddresses =
  'It begins with two addresses: the second one is taken for the client, the first one for the host, unless --server-name is given.'

/** Apache writes `""` for an empty name, and a quote of a client with a backslash. */
const userIn = (user: string): string | undefined => (user === '""' ? undefined : withoutBackslashes(user))
