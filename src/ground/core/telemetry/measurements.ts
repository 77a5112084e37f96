/**
 * Measurements: the state of streams, configuration and destinations, and how long work takes. Part of the table of
 * `occurrences.ts`.
 */
import { gauge, levels, timing } from './occurrence.js'

export const measurements = {
  // --- streams: the same on every process ---

  streamBytes: gauge('weir_stream_bytes', 'Bytes that a stream or bucket holds.', ['stream'], 'max'),
  streamBytesMax: gauge(
    'weir_stream_bytes_max',
    'Bytes that a stream or bucket may hold.',
    ['stream'],
    'max',
  ),
  streamOldest: gauge(
    'weir_stream_oldest_seconds',
    'Age of the oldest message of a stream or bucket; 0 if it is empty.',
    ['stream'],
    'max',
  ),
  streamRetention: gauge(
    'weir_stream_retention_seconds',
    'Age at which a message of a stream or bucket is removed; 0 if it is kept.',
    ['stream'],
    'max',
  ),
  recordsLag: levels(
    'weir_records_lag_messages',
    'Messages of records that are not processed yet.',
    ['stream'],
    'max',
  ),
  recordsOldest: levels(
    'weir_records_oldest_seconds',
    'Age of the oldest message of records that is not processed yet; 0 if there is none.',
    ['stream'],
    'max',
  ),

  // --- configuration: of the process that is furthest behind ---

  configurationRevision: gauge(
    'weir_configuration_revision',
    'Revision of the configuration in use.',
    ['role'],
    'min',
  ),
  configurationAge: levels(
    'weir_configuration_age_seconds',
    'Time since the configuration in use was put to use.',
    ['role'],
    'max',
  ),

  // --- how long work takes, in seconds: observed once for a request or pack, never for a record ---

  requestTimed: timing(
    'weir_api_request_seconds',
    'Time to answer a request to the management API, by pattern of the path.',
    ['method', 'route'],
    [0.005, 0.02, 0.1, 0.5, 2, 10],
  ),
  decisionTimed: timing(
    'weir_decide_seconds',
    'Time to answer a request for a decision.',
    ['over'],
    [0.0001, 0.0005, 0.002, 0.01, 0.05, 0.25],
  ),
  deliveryTimed: timing(
    'weir_delivery_seconds',
    'Time from the arrival of a record until AWS accepted its event: of the first event of each pack.',
    ['target'],
    [0.5, 1, 2, 5, 15, 60, 300, 3600],
  ),

  // --- certificates ---

  certificateExpiry: levels(
    'weir_certificate_expiry_timestamp_seconds',
    'When the certificate of a kind that expires first does so, in seconds since the epoch; none if there is no certificate.',
    ['kind'],
    'min',
  ),

  // --- IP lists with a source: the same on every API process ---

  listSources: levels(
    'weir_ip_list_sources',
    'IP lists with a source, by how its fetches went.',
    ['state'],
    'max',
  ),
  listSourceAge: levels(
    'weir_ip_list_source_age_periods',
    'Time since a source of an IP list was read without a fault, in periods of its refresh_seconds: of the list for which that is most.',
    [],
    'max',
  ),

  // --- destinations ---

  behindMessages: levels(
    'weir_destination_behind_messages',
    'Messages of records that wait for a destination that is behind; those that are not named are added up as other.',
    ['destination', 'target'],
    'max',
  ),
  behindExpiry: levels(
    'weir_destination_behind_expiry_seconds',
    'Time until the first message of records that waits for a destination leaves the stream, estimated from its age and the room.',
    ['destination', 'target'],
    'max',
  ),
  backlogExpiry: levels(
    'weir_destination_backlog_expiry_seconds',
    'Time until the oldest event that waits for a destination is dropped for its age; only in the hours before, and while it does not move.',
    ['destination', 'target'],
    'min',
  ),
  destinationStates: levels(
    'weir_destination_state',
    'Destinations by state: 1 for the state that a destination has in a process; those that are not named are counted as other.',
    ['destination', 'target', 'state'],
  ),
}
