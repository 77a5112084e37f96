import { urlsPerReportMax } from '../../ground/core/limits.js'
import { boundedBytes, objectOf, oneOf, ruled, type Static, Type } from '../../ground/core/schema.js'
import { assigned, described, required } from './fields/fields.js'
import { defineResource } from './kind/define.js'

/** The length that RFC 9110 recommends to support: https://www.rfc-editor.org/rfc/rfc9110#section-4.1-5 */
const urlBytesMax = 8000

/** Decisions about a hostname; until one is made it is pending. */
export const hostnameDecisions = ['BANNED', 'UNBANNED', 'IGNORE'] as const

const pending = 'PENDING'
const hostnameStatuses = [pending, ...hostnameDecisions] as const
const reportStatuses = [pending, 'PARTIALLY_PROCESSED', 'PROCESSED'] as const

const reportedHostname = objectOf({
  hostname: Type.String({ description: 'Parsed out of one of the URLs.' }),
  status: oneOf(hostnameStatuses),
})

export type ReportedHostname = Static<typeof reportedHostname>

/** URL parsers drop or encode white space; refusing it keeps the stored URL equal to the one that was sent. */
const blank = /[\s\p{Cc}]/u

const isWebUrl = (text: string): boolean =>
  URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol)

const url = ruled(boundedBytes(urlBytesMax, 'A URL with suspected abusive content.'), (text) => {
  if (!isWebUrl(text)) return 'a URL that begins with "http://" or "https://" is needed'
  return blank.test(text) ? 'a URL must not contain white space or control characters' : undefined
})

export const abuseReport = defineResource({
  kind: 'abuse_report',
  idPrefix: 'abrp_',
  path: '/abuse_reports',
  listName: 'abuse_reports',
  title: 'abuse report',
  about:
    'URLs with suspected abusive content, for the response team to decide on. Only for accounts with the right "abuse_reports".',
  example: {
    urls: ['http://evil.example.com/login'],
    status: 'PENDING',
    hostnames: [{ hostname: 'evil.example.com', status: 'PENDING' }],
  },
  operations: ['create', 'get'],
  right: 'abuse_reports',
  fields: {
    metadata: described.metadata,
    urls: required(Type.Array(url, { minItems: 1, maxItems: urlsPerReportMax }), { atCreation: true }),
    status: assigned(oneOf(reportStatuses)),
    hostnames: assigned(Type.Array(reportedHostname)),
  },
  derive(draft, previous) {
    const hostnames = previous === undefined ? hostnamesOf(draft.urls) : draft.hostnames
    return { ...draft, hostnames, status: statusOf(hostnames) }
  },
})

/** Hostnames without duplicates, in the order of the URLs; `URL` makes them lower-case and punycode. */
const hostnamesOf = (urls: readonly string[]): ReportedHostname[] =>
  [...new Set(urls.map((text) => new URL(text).hostname))].map((hostname) => ({ hostname, status: pending }))

function statusOf(hostnames: readonly ReportedHostname[]): (typeof reportStatuses)[number] {
  const undecided = hostnames.filter(({ status }) => status === pending).length
  if (undecided === 0) return 'PROCESSED'
  return undecided < hostnames.length ? 'PARTIALLY_PROCESSED' : pending
}
