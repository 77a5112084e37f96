/** Occurrences of processing records and delivering events: part of the table of `occurrences.ts`. */
import { count, error, info, warn } from './occurrence.js'

// --- ingest and pipeline ---

export const pipeline = {
  configurationBuilt: info(
    'A new configuration is in use.',
    'weir_configurations_built_total',
    'Configurations compiled and put to use.',
  ),
  configurationUnbuilt: error(
    'A configuration can not be compiled; the last good one stays in use.',
    'weir_configurations_unbuilt_total',
    'Configurations that could not be compiled.',
  ),
  recordsUnavailable: warn(
    'Records can not be pulled; it is tried again.',
    'weir_pull_failures_total',
    'Pulls of records that failed.',
  ),
  recordsUnstored: warn(
    'What records caused could not be stored; they are processed again.',
    'weir_store_retries_total',
    'Packs or ledger entries that could not be stored.',
  ),
  recordsUnserved: warn(
    'No edge serves some records: no policy of an edge was looked at for them.',
    'weir_unserved_reports_total',
    'Reports of records that no edge serves: at most one a minute for each process.',
  ),
  inputRemoved: info(
    'A stream of input nears its bound; its oldest processed messages were removed.',
    'weir_input_removals_total',
    'Removals of processed messages to make room for new ones.',
    ['stream'],
  ),
  packsSwept: warn(
    'Packs that nobody will deliver were removed: they were delivered before, or their destination is gone.',
    'weir_pack_sweeps_total',
    'Sweeps of the deliveries stream that removed something.',
  ),
  janitorFailed: warn(
    'Streams can not be tidied up; it is tried again.',
    'weir_janitor_failures_total',
    'Rounds of the janitor that failed.',
  ),
  auditBad: warn(
    'A bad audit event of another service was parked in the dead letters.',
    'weir_bad_audits_parked_total',
    'Bad audit events of other services parked in the dead letters, repeats included.',
  ),
  stoppedEarly: warn(
    'A stop ended before every message was acknowledged; some may be processed again, and their events arrive twice.',
    'weir_stops_unconfirmed_total',
    'Stops that ended before every message was acknowledged.',
  ),
  auditUnrouted: warn(
    'Audit events could not be handed on; it is tried again.',
    'weir_audit_failures_total',
    'Messages of audit events that could not be handed on.',
  ),
}

// --- delivery ---

export const delivery = {
  booksUnsaved: warn(
    'A snapshot of the books could not be saved; the ledger keeps what it would hold.',
    'weir_books_unsaved_total',
    'Snapshots of the books that failed.',
  ),
  booksReopened: warn(
    'The ledger was made anew, has a gap or went silent; the books are read again.',
    'weir_books_reopened_total',
    'Times that the books were read again.',
  ),
  ledgerUnwritten: warn(
    'The ledger can not be written; it is tried again, and nothing is acknowledged until then.',
    'weir_ledger_failures_total',
    'Writes to the ledger that failed.',
  ),
  backlogDropped: warn(
    'The backlog of a deleted destination was dropped.',
    'weir_backlogs_dropped_total',
    'Deleted destinations whose backlog was dropped.',
  ),
  deliveryFaulted: warn(
    'A step of delivery failed and is tried again; nothing is lost.',
    'weir_delivery_faults_total',
    'Steps of delivery that failed for a reason of ours or of NATS.',
  ),
  packLineMalformed: error(
    'A line of a pack can not be read and is left out.',
    'weir_pack_lines_malformed_total',
    'Lines of packs that nobody could have written.',
  ),
  eventsDelivered: count('weir_delivery_accepted_total', 'Events accepted by AWS, repeats included.', [
    'target',
  ]),
  eventsRetried: count('weir_delivery_retries_total', 'Events sent once more.', ['target']),
  eventDeadLettered: warn(
    'An event was refused for itself and lies in the dead letters.',
    'weir_delivery_refused_total',
    'Events parked in the dead letters, repeats included.',
    ['target'],
  ),
  destinationHealthy: info(
    'A destination accepts events again.',
    'weir_destination_recoveries_total',
    'Destinations that went back to healthy.',
    ['target'],
  ),
  destinationStruggles: warn(
    'A destination throttles or fails; what failed is sent again.',
    'weir_destination_struggles_total',
    'Destinations that began to throttle or fail.',
    ['target'],
  ),
  destinationPaused: error(
    'A destination is paused until its credentials or configuration are mended; it is probed.',
    'weir_destination_pauses_total',
    'Destinations that were paused.',
    ['target'],
  ),
}
