/** Decisions of the response team about abuse reports of all accounts, from the command line or over NATS. */

import { abuseDecisionSubject } from '../../delivery/wire/names.js'
import { isoSeconds } from '../../ground/core/clock.js'
import { badRequest, notFound, shown, unavailable, WeirError } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { oneOf, type Static, Type } from '../../ground/core/schema.js'
import { compileCheck } from '../../ground/core/schema-check.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { abuseReport, hostnameDecisions, type ReportedHostname } from '../../words/resource/abuse-report.js'
import type { Row } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import { checkNames } from '../exchange/body/input.js'
import { parseJsonBody } from '../exchange/body/json-body.js'
import type { Presenter } from '../exchange/present.js'
import { checkPathId, unknownResource } from '../exchange/rows.js'
import type { Principal } from '../store/change/change.js'
import type { Store } from '../store/store.js'
import { oldestFirst } from './accounts.js'
import type { Writes } from './writes.js'

interface ReportParts {
  readonly store: Store
  readonly writes: Writes
  readonly presenter: Presenter
}

const resource = resourceOf(abuseReport.kind)

const hostnamesOf = (report: Row) => report['hostnames'] as readonly ReportedHostname[]

const decisionFields = {
  report_id: Type.String(),
  hostname: Type.String(),
  status: oneOf(hostnameDecisions),
}
const decisionSchema = Type.Object(decisionFields)
const complaint = compileCheck(decisionSchema)

type Decision = Static<typeof decisionSchema>

/** Checks a decision that came from outside. */
function decisionOf(given: unknown): Decision {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw badRequest('The request must be an object with report_id, hostname and status.')
  }
  checkNames({ ...given }, Object.keys(decisionFields), 'decision')
  for (const name of Object.keys(decisionFields))
    if (!Object.hasOwn(given, name)) throw badRequest(`"${name}" is required for a decision.`)
  const wrong = complaint(given, '')
  if (wrong !== undefined) throw badRequest(wrong)
  return given as Decision
}

/** Records the decision about a hostname of a report; the last one counts. Resolves with the report. */
export async function decideHostname(
  { store, writes }: ReportParts,
  principal: Principal,
  given: unknown,
): Promise<Row> {
  const { report_id: id, hostname, status } = decisionOf(given)
  checkPathId(resource, id)
  const report = store.view.state.rows.get(resource.kind)?.get(id)
  if (report === undefined && !store.view.isComplete)
    throw unavailable('The configuration is not complete yet.')
  if (report === undefined) throw unknownResource(resource, id)
  const caller = { accountId: report.account_id, principal, address: undefined }
  const plan = writes.update(caller, resource, id, (present) => ({
    hostnames: decided(present, hostname, status),
  }))
  return (await store.commit(caller.accountId, principal, plan)).row
}

function decided(report: Row, hostname: string, status: Decision['status']): ReportedHostname[] {
  const name = asInUrls(hostname)
  const hostnames = hostnamesOf(report)
  if (hostnames.some((each) => each.hostname === name))
    return hostnames.map((each) => (each.hostname === name ? { ...each, status } : each))
  const names = hostnames.map((each) => each.hostname)
  throw notFound(
    `"hostname" is ${shown(hostname)}, which ${report.id} does not report: it reports ${shown(names, 300)}.`,
  )
}

/** The hostname as URLs spell it. */
function asInUrls(hostname: string): string {
  const text = `http://${hostname}`
  if (!URL.canParse(text)) return hostname
  const url = new URL(text)
  return url.href === `http://${url.hostname}/` ? url.hostname : hostname
}

const overNats: Principal = { source: 'NATS', credentialId: null }

/** The reply to a request on `weir.abuse.decide`: the report as the API shows it, or `{error_code, msg}`. */
export async function answerDecision(
  parts: ReportParts,
  request: Uint8Array,
  occurrences: Occurrences,
): Promise<string> {
  try {
    const row = await decideHostname(parts, overNats, await parseJsonBody(Buffer.from(request)))
    return parts.presenter.showJson(resource, row, parts.store.view.state)
  } catch (error) {
    // Anything else is a defect: the caller answers and reports it.
    if (!(error instanceof WeirError)) throw error
    const { code, status, message, cause } = error
    if (status === 503)
      occurrences.requestUnavailable({
        operation_id: newId('op_'),
        path: abuseDecisionSubject,
        err: cause ?? error,
      })
    return JSON.stringify({ error_code: code, msg: message })
  }
}

/** Lists reports that need decisions, or all, oldest first: a line per report and a line per hostname, or JSON. */
export function listReports({ store }: Pick<ReportParts, 'store'>, all: boolean, json: boolean): string {
  return oldestFirst(store.view.state, resource.kind)
    .filter((report) => all || report['status'] !== 'PROCESSED')
    .map((report) => describeReport(report, json))
    .join('')
}

export function describeReport(report: Row, json: boolean): string {
  const { id, account_id, status } = report
  const created_at = isoSeconds(report.created_at)
  const hostnames = hostnamesOf(report)
  if (json) return `${JSON.stringify({ id, account_id, created_at, status, hostnames })}\n`
  return [
    `${id}  ${status}  ${created_at}  ${account_id}`,
    ...hostnames.map((each) => `  ${each.status.padEnd(8)}  ${each.hostname}`),
    '',
  ].join('\n')
}
