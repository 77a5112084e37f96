/** Occurrences of nats-server, and of what a process writes: part of the table of `occurrences.ts`. */
import { boundedError, boundedWarn, count, error, gauge, info, warn } from './occurrence.js'

/** The lack of a process that cannot write what its role is for. */
export const writeFaults = ['stream', 'nats', 'consumers', 'account', 'descriptors', 'clickhouse'] as const

export const nats = {
  natsServerStarted: info(
    'The local nats-server is running.',
    'weir_nats_server_starts_total',
    'Starts of the local nats-server.',
  ),
  natsServerStopped: info(
    'The local nats-server was stopped by another process; it is started again.',
    'weir_nats_server_stops_total',
    'Stops of the local nats-server by a signal from outside.',
  ),
  natsServerEnded: warn(
    'The local nats-server ended by itself and is started again on the same port.',
    'weir_nats_server_exits_total',
    'Unexpected ends of the local nats-server.',
  ),
  natsLoginsLoaded: info(
    'The logins of the local nats-server have changed: it takes those in its files, and refuses others.',
    'weir_nats_logins_loaded_total',
    'Times that the local nats-server was given other logins while it ran.',
  ),
  natsServerLeftover: warn(
    'A nats-server left behind on this data directory was ended before the new one starts.',
    'weir_nats_server_leftovers_total',
    'Servers left behind by a killed Weir and ended at the next start.',
  ),
  natsServerUnstartable: error(
    'The local nats-server does not start; trying again.',
    'weir_nats_server_failed_starts_total',
    'Starts of the local nats-server that failed.',
  ),
  natsServerWaits: error(
    'The local nats-server has ended and cannot be started again now; that is tried every five seconds.',
    'weir_nats_server_waits_total',
    'Times that the local nats-server could not be started again because its files could not be written, or its disk was not mounted.',
  ),
  natsStoreFailed: error(
    'The local nats-server cannot store; the reason says what to do. It is restarted when its disk is well again.',
    'weir_nats_store_failures_total',
    'Times that the local nats-server could not store because of its disk.',
  ),
  natsStoreRestarted: warn(
    'The disk is well again: the local nats-server is restarted, because it may have taken streams out of service.',
    'weir_nats_store_restarts_total',
    'Restarts of the local nats-server after a fault of its disk.',
  ),
  natsStoresFailing: gauge(
    'weir_nats_store_failing',
    'Whether the local nats-server cannot store because of its disk: 1 while it cannot.',
  ),
  natsServerMoved: warn(
    'The local nats-server has another port than at its last start; ingress nodes need the new one.',
    'weir_nats_server_moves_total',
    'Starts of the local nats-server on another port than before.',
  ),
  natsServerOutdated: warn(
    'The nats-server is outdated. Put a newer one on the PATH, or set NATS_URL to a server elsewhere.',
    'weir_nats_server_outdated_reports_total',
    'Reports of a nats-server without the fixes of known security faults: one per version, and per process that connects to a server elsewhere.',
  ),
  natsServersOutdated: gauge(
    'weir_nats_server_outdated',
    'Processes of this instance that run or use a nats-server without the fixes of known security faults.',
  ),
  natsStoreLost: warn(
    'Streams of this deployment were not there and were made again, empty: `loss` says what is gone.',
    'weir_nats_store_losses_total',
    'Times that streams of a deployment in use were found missing and recreated.',
  ),
  streamsUnmade: warn(
    'Streams or buckets that NATS has lost cannot be made again; the API tries again every ten seconds.',
    'weir_nats_streams_unmade_total',
    'Attempts to make lost streams and buckets again that failed.',
  ),
  writesFailed: error(
    'This process cannot write what its role is for; its readiness says so. It goes on by itself when that is mended.',
    'weir_write_failures_total',
    'Times that a process found that it could not write what its role is for, by what was lacking.',
    ['reason'],
    { reason: writeFaults },
  ),
  writesRecovered: info(
    'This process can write again.',
    'weir_write_recoveries_total',
    'Times that a process found that it could write again.',
    ['reason'],
    { reason: writeFaults },
  ),
  writesFailing: gauge(
    'weir_write_failing',
    'Processes that cannot write what their role is for, by what is lacking: a stream that is out of service (stream), NATS (nats), a consumer (consumers), room of its account (account), open files (descriptors), ClickHouse (clickhouse).',
    ['reason'],
  ),
  probesForbidden: warn(
    'This user of NATS may not write or read the probe of its role, or ask whether a stream is in service; `weir nats-config` prints the permissions of this version. Until then readiness knows less.',
    'weir_probes_forbidden_total',
    'Streams about which a process may not ask whether NATS stores in them.',
  ),
  natsDisconnected: warn(
    'The connection to NATS is lost; reconnecting.',
    'weir_nats_disconnects_total',
    'Connections to NATS that were lost.',
  ),
  natsReconnected: info(
    'The connection to NATS is back.',
    'weir_nats_reconnects_total',
    'Connections to NATS that came back.',
  ),
  natsError: boundedWarn('NATS reported an error.', 'weir_nats_errors_total', 'Errors reported by NATS.'),
  natsUnreachable: boundedWarn(
    'NATS cannot be reached; trying again until it can.',
    'weir_nats_unreachable_total',
    'Failed looks at whether, and why not, NATS can be reached.',
  ),
  natsRequestFailed: boundedError(
    'A request over NATS failed with an internal error.',
    'weir_nats_requests_failed_total',
    'Requests over NATS that failed with an internal error.',
  ),
  entryDamaged: boundedError(
    'An entry of a stream or bucket that cannot be read was skipped. It was written by something else than Weir, or is damaged.',
    'weir_damaged_entries_total',
    'Entries of streams and buckets that cannot be read and were skipped.',
    ['stream'],
  ),
  natsCallRetried: count(
    'weir_nats_retries_total',
    'Publishes and calls of key-value buckets that were retried.',
    ['call'],
    { call: ['publish', 'bucket'] },
  ),
}
