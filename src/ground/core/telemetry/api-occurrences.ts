/** Occurrences of the management API: part of the table of `occurrences.ts`. */
import { boundedError, boundedInfo, boundedWarn, count, info, warn } from './occurrence.js'

export const api = {
  requestFailed: boundedError(
    'A request failed with an internal error.',
    'weir_api_failures_total',
    'Requests answered with 500.',
  ),
  requestUnavailable: boundedWarn(
    'A request could not be served now.',
    'weir_api_unavailable_total',
    'Requests answered with 503.',
  ),
  connectionRefused: count(
    'weir_connections_refused_total',
    'Connections over HTTP that were closed at once: there were too many in all, or from their address.',
    ['because'],
    { because: ['all', 'address'] },
  ),
  requestRefusedAtOnce: count(
    'weir_api_refused_at_once_total',
    'Requests refused because too many of their kind were being served: of the account, or by the process.',
    ['bound', 'scope'],
  ),
  overviewPartUnread: boundedWarn(
    'A part of an overview was not read; the rest was answered.',
    'weir_overview_parts_unread_total',
    'Parts of overviews that were not read.',
    ['part'],
  ),
  findingsUnread: boundedWarn(
    'Findings of a kind were not looked for; the rest was answered.',
    'weir_findings_unread_total',
    'Kinds of findings that were not looked for, because the decision log did not answer.',
    ['kind'],
  ),
  requestAborted: boundedInfo(
    'A connection ended before its request was complete.',
    'weir_api_aborted_requests_total',
    'Requests with an incomplete body, because the client disconnected or took too long.',
  ),
  loginFailed: boundedWarn(
    'A login failed.',
    'weir_api_failed_logins_total',
    'Requests without a valid API key.',
  ),
  apiRestrictionWarning: boundedWarn(
    'An unenforced IP restriction would have blocked a request.',
    'weir_api_restriction_warnings_total',
    'Requests that an unenforced restriction of the type api would have blocked.',
  ),
  bouncerTooLarge: boundedWarn(
    'A bouncer has more bans than are allowed; it gets none until they are fewer.',
    'weir_bouncers_too_large_total',
    'Pulls of bouncers that were refused, because their IP policies and lists ban too many ranges.',
  ),
  usageMessageIgnored: boundedWarn(
    'A malformed message with the counts of another API process was ignored.',
    'weir_api_usage_messages_ignored_total',
    'Malformed messages with the counts of other API processes.',
  ),
  usageUnshared: warn(
    'NATS does not let this process exchange counts with other API processes: until a restart, its limits count its own requests only.',
    'weir_api_usage_refusals_total',
    'Times that NATS refused the exchange of counts between API processes.',
  ),
  replayEnded: info('A replay has ended.', 'weir_replays_total', 'Replays that have ended.', ['state'], {
    state: ['done', 'cancelled', 'failed'],
  }),
  replayInterrupted: warn(
    'A replay is interrupted; it is retried.',
    'weir_replay_interruptions_total',
    'Failed attempts to continue a replay.',
  ),
  keyUsesUnsaved: warn(
    'The last uses of API keys and tunnel credentials could not be written; they are written a minute later.',
    'weir_api_key_uses_unsaved_total',
    'Times that the last uses of API keys and tunnel credentials could not be written.',
  ),
  sessionForeign: boundedError(
    'An entry among the sessions of the web console was ignored: no API of this deployment wrote it.',
    'weir_api_foreign_sessions_total',
    'Entries among the sessions of the web console that no API of this deployment wrote.',
  ),
  sessionsUnswept: warn(
    'Sessions of deleted API keys, which are refused anyway, could not be removed from NATS; that is tried again in a minute.',
    'weir_api_sessions_unswept_total',
    'Times that sessions of deleted API keys could not be removed.',
  ),
  rulesExpired: info(
    'Rules of an IP policy that had expired were deleted.',
    'weir_ip_policy_rules_expired_total',
    'Times that rules of an IP policy which had expired were deleted.',
  ),
  expiredRulesKept: warn(
    'Rules of an IP policy that have expired, which are without effect already, could not be deleted; that is tried again in a few seconds.',
    'weir_ip_policy_rules_expired_kept_total',
    'Times that rules which had expired could not be deleted.',
  ),
  listFed: info(
    'An IP list has other entries, from its source.',
    'weir_ip_lists_fed_total',
    'Times that the source of an IP list had other entries, which the list has now.',
  ),
  listFeedFailed: boundedWarn(
    'An IP list could not be fed by its source; its entries stay as they are.',
    'weir_ip_list_fetch_failures_total',
    'Fetches of IP lists from their sources that failed, by the code of the error that the list shows.',
    ['code'],
  ),
  listFeedStateUnsaved: warn(
    'How the fetch of an IP list from its source went could not be stored; it is fetched again some minutes later.',
    'weir_ip_list_fetches_unsaved_total',
    'Times that the state of an IP list with a source could not be read or written.',
  ),
  trialEnded: info(
    'A trial has ended.',
    'weir_trials_total',
    'Trials of drafts that have ended.',
    ['state'],
    {
      state: ['done', 'failed', 'cancelled'],
    },
  ),
  recordsPublished: count(
    'weir_api_records_total',
    'Records and log records that were sent to the management API: stored, or refused because they are wrong.',
    ['result'],
    { result: ['stored', 'refused'] },
  ),
  requestServed: count('weir_api_requests_total', 'Requests to the management API.', ['method', 'status']),
}
