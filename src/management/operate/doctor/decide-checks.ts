/** The port that proxies ask: does it answer, and does it trust those who ask? */
import type { ProcessReport } from '../../../delivery/wire/process-report.js'
import { isoSeconds, isRecent } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import { type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'

const answerWithinMs = 3_000
const dayMs = 24 * 3_600_000
/** Without a key, the port refuses: that is the answer. */
const refusedWithoutKey = 401

export async function decidePortLines(
  reports: readonly ProcessReport[],
  host: string,
): Promise<DoctorLine[]> {
  const listening = reports.flatMap((report) => {
    const { decide: url } = report.addresses
    return url === undefined ? [] : [{ url, report }]
  })
  if (listening.length === 0)
    return [
      doctorLine(
        'decide_port',
        'not_checked',
        'No process listens for proxies: WEIR_DECIDE_PORT is not set. Decisions over NATS and over the API need no port.',
      ),
    ]
  return Promise.all(
    listening.map(async ({ url, report }) => {
      if (report.host !== host)
        return doctorLine(
          'decide_port',
          'not_checked',
          `It is on ${report.host}, and was not asked from here.`,
          {
            about: url,
          },
        )
      const fault = await faultOf(url)
      return fault === undefined
        ? doctorLine('decide_port', 'good', 'It answers.', { about: url })
        : doctorLine('decide_port', 'bad', `It does not answer as it should: ${fault}.`, {
            about: url,
            advice: 'See whether another program has the port, and the log of the role decide.',
          })
    }),
  )
}

async function faultOf(url: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${url}/decide`, {
      method: 'POST',
      signal: AbortSignal.timeout(answerWithinMs),
    })
    await answer.body?.cancel()
    return answer.status === refusedWithoutKey
      ? undefined
      : `a request without a key got ${answer.status}, and not ${refusedWithoutKey}`
  } catch (error) {
    return messageOf((error as Error).cause ?? error)
  }
}

export function trustedProxyLines(reports: readonly ProcessReport[]): DoctorLine[] {
  const listening = reports.filter(({ addresses }) => addresses['decide'] !== undefined)
  if (listening.length === 0)
    return [doctorLine('trusted_proxies', 'not_checked', 'No process listens for proxies, so none was seen.')]
  const untrusted = listening.flatMap(({ untrustedProxy }) => untrustedProxy ?? [])
  const [last] = untrusted.filter(({ atMs }) => isRecent(atMs, dayMs)).toSorted((a, b) => b.atMs - a.atMs)
  if (last === undefined)
    return [
      doctorLine(
        'trusted_proxies',
        'good',
        'Since the start of the processes, or for a day, no one asked in the name of a client without being trusted.',
      ),
    ]
  return [
    doctorLine(
      'trusted_proxies',
      'warning',
      `${last.address} asked for a decision with X-Forwarded headers at ${isoSeconds(last.atMs)}, and is not trusted: the decision was about ${last.address} itself.`,
      { about: last.address, advice: `If it is your proxy, add its network to WEIR_TRUST_PROXY.` },
    ),
  ]
}
