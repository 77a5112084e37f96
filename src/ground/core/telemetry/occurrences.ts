/**
 * Start here: the table of everything worth reporting. Calling an entry writes the log line and moves the counter, so
 * that neither is forgotten.
 *
 *     occurrences.childEnded({ role: 'deliver', exitCode: 1 })
 *
 * - `info`: normal operation. `warn`: nothing is lost. `error`: someone must act.
 * - `count`: only a counter, for events too frequent for a log line. `gauge`: a level, set to a value. `levels`: read
 *   whenever the metrics are. `timing`: a histogram of seconds.
 *
 * Labels name kinds and targets, never accounts, ids or addresses: their number must stay small. Only
 * `destinationStates`, `behindMessages`, `behindExpiry` and `backlogExpiry` name destinations, a bounded number of them.
 * Further details are passed as additional fields, which appear only in the log line.
 */
import { api } from './api-occurrences.js'
import { measurements } from './measurements.js'
import { nats } from './nats-occurrences.js'
import {
  bindOccurrences,
  boundedError,
  boundedWarn,
  type Calls,
  count,
  decisions,
  error,
  gauge,
  info,
  type OccurrencesOptions,
  warn,
} from './occurrence.js'
import { delivery, pipeline } from './traffic-occurrences.js'

// --- processes ---

const processes = {
  childEnded: warn(
    'A process of Weir ended by itself and is started again.',
    'weir_process_restarts_total',
    'Processes that ended by themselves and were started again.',
    ['role'],
  ),
  childStopForced: warn(
    'A process did not stop in time and was killed; its unacknowledged work is repeated.',
    'weir_process_kills_total',
    'Processes killed because they did not stop in time.',
    ['role'],
  ),
  childUnready: error(
    'A process of Weir does not become ready.',
    'weir_process_unready_total',
    'Starts of a process that did not become ready in time.',
    ['role'],
  ),
  parentLost: warn(
    'The parent process has ended; stopping.',
    'weir_parent_lost_total',
    'Stops because the parent process had ended.',
  ),
  clockJumped: warn(
    'The clock of this machine was set to another time: for as long as the retention, ages are judged by the earlier of both.',
    'weir_clock_jumps_total',
    'Times that the clock of the machine was set by 5 s or more.',
  ),
  nodeWarned: boundedWarn(
    'Node warns of something in this process. The process goes on; please report it.',
    'weir_node_warnings_total',
    'Warnings of Node, by their name.',
    ['name'],
    { name: ['Warning', 'DeprecationWarning', 'ExperimentalWarning', 'MaxListenersExceededWarning'] },
  ),
  roleWaits: warn(
    'This process waits, because it and another one of the deployment would misunderstand each other; the reason says what to do.',
    'weir_role_waits_total',
    'Reports that a process waits for others of another version.',
    ['role'],
  ),
  roleWaitEnded: info(
    'The processes that this one waited for have ended; it starts now.',
    'weir_role_waits_ended_total',
    'Waits for processes of another version that have ended.',
    ['role'],
  ),
  rolesUnheard: warn(
    'NATS did not bring what the roles say of their versions, so this process does not check them. See "NATS users and rights" in docs/ingress.md.',
    'weir_roles_unheard_total',
    'Times that a process asked for the versions of all and did not even hear itself.',
    ['role'],
  ),
  childrenRunning: gauge('weir_processes', 'Processes of this instance that are running.', ['role']),
}

// --- records and evaluation ---

/** Records are evaluated, and requests for decisions are. */
const askedBy = ['record', 'decision']

const evaluation = {
  recordsBad: boundedWarn(
    'Bad records of a message were set aside; weir dead list --all shows them.',
    'weir_bad_records_parked_total',
    'Bad records parked in the dead letters, repeats included.',
  ),
  policyExpressionFailed: count(
    'weir_policy_expression_failures_total',
    'Expressions of traffic policies that had no result, for a record or a request for a decision.',
    ['asked_by'],
    { asked_by: askedBy },
  ),
  policyFailing: warn(
    'Expressions of a traffic policy have no result for some records; the policy does not apply to those.',
    'weir_policy_failure_reports_total',
    'Reports of policies whose expressions had no result: at most one a minute for each policy.',
  ),
  filterFailed: count('weir_filter_failures_total', 'Filters that had no result for a record.', ['kind']),
  restrictionWarned: count(
    'weir_restriction_warnings_total',
    'Records and requests for decisions that an unenforced restriction would have blocked.',
    ['asked_by'],
    { asked_by: askedBy },
  ),
  shadowDecided: count(
    'weir_shadow_decisions_total',
    'Records and requests for decisions to which something applied that is not enforced, by what was decided and what would have been (shadow).',
    ['asked_by', 'decision', 'shadow'],
    { asked_by: askedBy, decision: decisions, shadow: decisions },
  ),
  restrictionWarning: warn(
    'An unenforced restriction would have blocked a record or a request for a decision.',
    'weir_restriction_warning_reports_total',
    'Reports of unenforced restrictions: at most one a minute for each.',
  ),
}

// --- store and projection ---

const store = {
  storeUnavailable: boundedError(
    'ClickHouse cannot be written to; writes are refused until it can.',
    'weir_store_failures_total',
    'Times that ClickHouse was found to take no writes, by this process.',
  ),
  configurationReread: warn(
    'The configuration bucket was recreated or restored; it is read again from its start.',
    'weir_configuration_rereads_total',
    'Full reads of the configuration bucket after the first.',
  ),
  configurationUnreachable: warn(
    'The configuration bucket does not answer; the last good configuration stays in use.',
    'weir_configuration_failures_total',
    'Failed reads of the configuration bucket.',
  ),
  configurationIncomplete: warn(
    'The configuration bucket is not complete, so its contents are not used; an API completes it from ClickHouse.',
    'weir_configuration_incomplete_total',
    'Reports of a configuration bucket that is not complete: two a minute for each process that waits for it.',
  ),
  resourceChanged: info(
    'A resource was changed.',
    'weir_resource_changes_total',
    'Writes that changed a resource.',
    ['kind', 'verb'],
  ),
  changeFinished: warn(
    'A change that another process left unfinished was finished.',
    'weir_changes_finished_total',
    'Changes finished on behalf of another process.',
  ),
  changeUnfinished: error(
    'A committed change cannot be finished yet; trying again.',
    'weir_changes_unfinished_total',
    'Failed attempts to finish a committed change.',
  ),
  projectionRepaired: info(
    'The configuration bucket was updated to match ClickHouse.',
    'weir_projection_repairs_total',
    'Comparisons of bucket and ClickHouse that wrote something.',
  ),
  accountsWithheld: warn(
    'Accounts differ from ClickHouse; they are being brought up to date, and the others are served meanwhile.',
    'weir_accounts_withheld_total',
    'Starts that served some accounts before others were brought up to date from ClickHouse.',
  ),
  keyForeign: boundedError(
    'The configuration bucket holds an API key or a bouncer that ClickHouse does not have; it is refused.',
    'weir_foreign_api_keys_total',
    'API keys and bouncers found in the configuration bucket that ClickHouse does not have.',
  ),
  keysUnchecked: boundedWarn(
    'New API keys or bouncers cannot be compared with ClickHouse; each is compared when it is used.',
    'weir_api_key_check_failures_total',
    'Comparisons of API keys and bouncers with ClickHouse that failed.',
  ),
  rowForeign: error(
    'The configuration bucket holds a row that ClickHouse does not have, or has with other content.',
    'weir_foreign_rows_total',
    'Rows found in the configuration bucket that ClickHouse does not have, or has with other content.',
    ['kind'],
  ),
  storeMismatch: error(
    'ClickHouse and the configuration bucket disagree; nothing is written until an operator decides.',
    'weir_store_mismatches_total',
    'Times that ClickHouse and the bucket were found to disagree.',
  ),
}

// --- what is exported to a collector of OpenTelemetry ---

const exportedSignals = { signal: ['traces', 'metrics', 'logs'] }
const exportFailures = 'weir_telemetry_export_failures_total'
const exportFailuresHelp = 'Requests to a collector of OpenTelemetry that failed, by signal.'

const exported = {
  exportFailed: warn(
    'The collector does not take what is exported; it is lost until the collector does. The work goes on.',
    exportFailures,
    exportFailuresHelp,
    ['signal'],
    exportedSignals,
  ),
  exportFailedAgain: count(exportFailures, exportFailuresHelp, ['signal'], exportedSignals),
  exportWorksAgain: info(
    'The collector takes what is exported again.',
    'weir_telemetry_export_recoveries_total',
    'Times that a collector of OpenTelemetry took something after a failure, by signal.',
    ['signal'],
    exportedSignals,
  ),
  exportDropped: count(
    'weir_telemetry_dropped_total',
    'Spans, points of metrics and log lines that were not exported: the collector did not take them, or too many waited.',
    ['signal'],
    exportedSignals,
  ),
}

const table = {
  ...processes,
  ...nats,
  ...evaluation,
  ...store,
  ...pipeline,
  ...delivery,
  ...api,
  ...exported,
  ...measurements,
}

export type Occurrences = Calls<typeof table>

/** The occurrences of one process: created once, passed to everything that reports. */
export const createOccurrences = (options: OccurrencesOptions): Occurrences => bindOccurrences(table, options)
