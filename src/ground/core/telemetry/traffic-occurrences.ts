/** Occurrences of processing records and delivering events: part of the table of `occurrences.ts`. */
import { boundedError, boundedWarn, count, decisions, error, info, levels, warn } from './occurrence.js'

// --- pipeline ---

export const pipeline = {
  configurationBuilt: info(
    'A new configuration is in use.',
    'weir_configurations_built_total',
    'Configurations compiled and put to use.',
  ),
  configurationUnbuilt: error(
    'A configuration cannot be compiled; the last good one stays in use.',
    'weir_configurations_unbuilt_total',
    'Configurations that could not be compiled.',
  ),
  recordsUnavailable: warn(
    'Records cannot be pulled; trying again.',
    'weir_pull_failures_total',
    'Pulls of records that failed.',
  ),
  recordsUnstored: warn(
    'Events of records could not be stored; the records are processed again.',
    'weir_store_retries_total',
    'Packs or ledger entries that could not be stored.',
  ),
  recordsUnserved: warn(
    'No edge serves some records, so no policy of an edge was applied to them.',
    'weir_unserved_reports_total',
    'Reports of records that no edge serves: at most one a minute for each process.',
  ),
  inputRemoved: info(
    'An input stream is nearly full; its oldest processed messages were removed.',
    'weir_input_removals_total',
    'Removals of processed messages to make room for new ones.',
    ['stream'],
  ),
  destinationBehind: warn(
    'A destination has filled its share of the storage: from this message on, its records wait in the stream of records. It gets their events when it works again.',
    'weir_destinations_behind_total',
    'Times that a destination fell behind.',
  ),
  destinationCaughtUp: info(
    'A destination has got the events that it missed.',
    'weir_destinations_caught_up_total',
    'Times that a destination had caught up.',
  ),
  recordsMissed: error(
    'Messages of records were removed, because of their age or for lack of room, before a destination that is behind got their events.',
    'weir_behind_messages_missed_total',
    'Messages of records that left the stream before a destination got their events.',
  ),
  ageLimitLifted: warn(
    'Messages of a stream are kept at any age: a destination with on_expiry block has not got their events.',
    'weir_age_limits_lifted_total',
    'Times that the age limit of a stream was lifted.',
    ['stream'],
  ),
  ageLimitRestored: info(
    'Messages of a stream are removed at the end of the retention again.',
    'weir_age_limits_restored_total',
    'Times that the age limit of a stream was put back.',
    ['stream'],
  ),
  sharesUnknown: warn(
    'The backlogs of destinations cannot be measured; trying again.',
    'weir_share_failures_total',
    'Looks at the backlogs of destinations that failed, after 10 s without one that did not.',
  ),
  packsSwept: warn(
    'Leftover packs were removed: they were delivered before, or their destination was deleted.',
    'weir_pack_sweeps_total',
    'Sweeps of the deliveries stream that removed something.',
  ),
  janitorFailed: warn(
    'Streams cannot be tidied up; trying again.',
    'weir_janitor_failures_total',
    'Rounds of the janitor that failed, after 10 s without one that did not.',
  ),
  auditBad: boundedWarn(
    'A bad audit event of another service was set aside; weir dead list --all shows it.',
    'weir_bad_audits_parked_total',
    'Bad audit events of other services parked in the dead letters, repeats included.',
  ),
  stoppedEarly: warn(
    'A stop ended before every message was acknowledged; some may be processed again, and their events arrive twice.',
    'weir_stops_unconfirmed_total',
    'Stops that ended before every message was acknowledged.',
  ),
  geoDatabaseUseless: warn(
    'A GeoIP database knows nothing that Weir reads: neither places nor autonomous systems.',
    'weir_geoip_useless_databases_total',
    'GeoIP databases, opened by this process, that know nothing that Weir reads.',
  ),
  geoLookupFailed: count(
    'weir_geoip_lookup_failures_total',
    'Lookups of addresses that failed, because a GeoIP database is damaged; the record has no geography.',
  ),
  watchedRowsMalformed: boundedWarn(
    'A message to those who watch holds no rows; it was left out.',
    'weir_watched_rows_malformed_total',
    'Messages to those who watch that held no rows.',
  ),
  watchersUnheard: warn(
    'NATS refuses to say what is watched; watchers see only decisions that the decision log takes.',
    'weir_watcher_failures_total',
    'Subscriptions for watchers that NATS refused.',
  ),
  ownConsumersUnheard: warn(
    'NATS refuses to say which destinations have consumers of their own; packs for one that fails are stored twice. See "Many destinations" in docs/scale.md.',
    'weir_own_consumers_unheard_total',
    'Subscriptions to notices about consumers of destinations that NATS refused.',
  ),
  pipelinesUnheard: warn(
    'NATS refuses to say which pipelines there are; this one takes messages of every partition at once. See "Partitions" in docs/scale.md.',
    'weir_pipelines_unheard_total',
    'Subscriptions to what other pipelines say that NATS refused.',
  ),
  decisionAsked: count(
    'weir_decisions_asked_total',
    'Decisions that ingress nodes and proxies asked for, by what was decided.',
    ['decision'],
    { decision: decisions },
  ),
  agentAsked: count(
    'weir_agent_checks_total',
    'Questions of tunnel servers about an agent, by what was decided.',
    ['decision'],
    { decision: decisions },
  ),
  decisionRowsLost: warn(
    'Rows of the decision log were lost: NATS did not take them. No event is affected.',
    'weir_decision_log_rows_lost_total',
    'Rows of the decision log that were not stored.',
  ),
  decisionLogUnwritten: warn(
    'Rows of the decision log cannot be stored; trying again. No event is affected.',
    'weir_decision_log_failures_total',
    'Inserts into the decision log, and reads of its stream, that failed.',
  ),
  decisionRowsStored: count(
    'weir_decision_log_rows_stored_total',
    'Rows of the decision log that this process stored in ClickHouse.',
  ),
  decisionRowsMalformed: boundedError(
    'A message with malformed rows of the decision log was dropped.',
    'weir_decision_log_rows_malformed_total',
    'Rows of the decision log that ClickHouse refused for good, which no process of Weir writes.',
  ),
  decisionRowsDropped: warn(
    'The decision log reached its bound; its oldest rows were dropped.',
    'weir_decision_log_rows_dropped_total',
    'Rows of the decision log that were dropped before the end of the retention, because of its bound.',
  ),
  auditUnrouted: warn(
    'Audit events could not be passed on; trying again.',
    'weir_audit_failures_total',
    'Messages of audit events that could not be passed on.',
  ),
}

// --- delivery ---

export const delivery = {
  booksUnsaved: warn(
    'A snapshot of the books could not be saved; the ledger keeps its entries.',
    'weir_books_unsaved_total',
    'Snapshots of the books that failed.',
  ),
  booksReopened: warn(
    'The ledger was recreated, has a gap or went silent; the books are read again.',
    'weir_books_reopened_total',
    'Times that the books were read again.',
  ),
  ledgerUnwritten: warn(
    'The ledger cannot be written; trying again, and acknowledging nothing until then.',
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
    'Steps of delivery that failed because of Weir or NATS.',
  ),
  packLineMalformed: boundedError(
    'A line of a pack is malformed and was skipped.',
    'weir_pack_lines_malformed_total',
    'Malformed lines of packs, which no process of Weir writes.',
  ),
  eventsDelivered: count('weir_delivery_accepted_total', 'Events accepted by AWS, repeats included.', [
    'target',
  ]),
  billingUnits: count(
    'weir_destination_billing_units_total',
    'Units that AWS bills for accepted records: of Kinesis PUT payload units of 25 KB, and kilobytes; of Firehose 5 KB; of CloudWatch Logs bytes.',
    ['target', 'unit'],
  ),
  eventsRetried: count('weir_delivery_retries_total', 'Events sent again.', ['target']),
  eventDeadLettered: boundedWarn(
    'A destination refused an event; weir dead list --all shows it.',
    'weir_delivery_refused_total',
    'Events parked in the dead letters, repeats included.',
    ['target'],
  ),
  deadLettersExpiring: warn(
    'Dead letters will be removed soon, because they are older than the retention.',
    'weir_dead_letters_expiring_total',
    'Dead letters whose removal was announced, some hours before.',
  ),
  deadLettersUnwatched: warn(
    'Dead letters that will be removed soon could not be announced; the next try follows in a minute.',
    'weir_dead_letter_announcement_failures_total',
    'Times that the announcement of dead letters that will be removed failed.',
  ),
  eventsExpiring: warn(
    'Events that wait for a destination will be dropped soon, because they get older than the retention.',
    'weir_events_expiring_announcements_total',
    'Announcements of events that will be dropped for their age.',
  ),
  eventsDropped: error(
    'Events that waited for a destination were dropped, because they were older than the retention.',
    'weir_events_dropped_announced_total',
    'Events dropped for their age, as far as that was announced.',
  ),
  eventsVanished: error(
    'Events that waited for a destination are not in the stream of deliveries any more.',
    'weir_events_vanished_announced_total',
    'Events whose packs vanished, as far as that was announced.',
  ),
  expiryUnwatched: warn(
    'Events that were dropped, or will be, could not be looked for or announced; trying again.',
    'weir_expiry_announcement_failures_total',
    'Times that the search for dropped events, or their announcement, failed.',
  ),
  stateChangesUnannounced: warn(
    'Changes of the states of destinations could not be announced; the next try follows in seconds.',
    'weir_destination_announcement_failures_total',
    'Times that the announcement of changed states failed.',
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
  destinationPausedByHand: info(
    'Someone paused a destination: its events wait until someone resumes it.',
    'weir_destination_pauses_by_hand_total',
    'Destinations that someone paused.',
    ['target'],
  ),
  awsClockDiffers: warn(
    'The clock of this machine differs from that of AWS by more than a minute. Weir signs its requests with the time of AWS: set the clock.',
    'weir_aws_clock_differences_total',
    'Times that a difference between the clock of this machine and that of AWS was found, or another one than before.',
  ),
  // Only from processes that know it: all that do have the same, and 0 of the others must not hide it.
  awsClockOffset: levels(
    'weir_aws_clock_offset_seconds',
    'How far the clock of AWS is ahead of that of this machine, negative if it is behind; only if it is more than a minute.',
    [],
    'max',
  ),
  destinationPaused: error(
    'A destination is paused until its credentials or configuration are corrected; it is probed.',
    'weir_destination_pauses_total',
    'Destinations that were paused.',
    ['target'],
  ),
}
