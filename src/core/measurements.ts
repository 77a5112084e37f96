/** Measurements: gauges of the state of streams, configuration and destinations. Part of the table of `occurrences.ts`. */
import { gauge, levels } from './occurrence.js'

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

  // --- destinations ---

  destinationStates: levels(
    'weir_destination_state',
    'Destinations by state: 1 for the state that a destination has in a process; those that are not named are counted as other.',
    ['destination', 'target', 'state'],
  ),
}
