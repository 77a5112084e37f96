/**
 * Sources that read bytes or texts, and belong to no parser that is fuzzed, with the reason. The test finds a source that
 * calls one of the functions that all parsers begin with and is neither here nor in the table of parsers.
 */
interface Unfuzzed {
  readonly why: string
  /** From `src` on. */
  readonly sources: readonly string[]
}

/** The beginning of a parser: a decoder of Node or of a library, or a function that is called like one. */
export const beginsParser =
  /JSON\.parse\(|\bjsonOf\b|[gG]unzip|inflate|parseDocument\(|parseTree\(|decodeURIComponent\(|new X509Certificate\(|createPrivateKey\(|createPublicKey\(|fromBinary\(|BinaryReader|\.readUInt|tokenize\(|RE2JS\.compile\(|URLSearchParams\(|export (?:const|function\*?|async function) (?:parse|decode)[A-Z]/

/** These run in browsers or belong to tests, where nothing comes from outside that a server has not made. */
export const isElsewhere = (file: string): boolean =>
  /^src\/outside\/(console|playground|reference|emulator|demo)\//.test(file) || file.endsWith('.d.ts')

export const unfuzzed: readonly Unfuzzed[] = [
  {
    why: 'it hands bytes on to a parser that is fuzzed',
    sources: [
      'delivery/ingest/followed-file.ts',
      'delivery/ingest/log-file.ts',
      'management/api/publish/otlp-routes.ts',
      'management/api/publish/publish-routes.ts',
      'management/api/publish/record-intake.ts',
      'management/decide/decision-port.ts',
      'management/http/raw-body.ts',
      'management/store/buckets.ts',
      'outside/cli/publish/publish-check.ts',
      'outside/cli/publish/refusals.ts',
      'outside/import/outpost-targets.ts',
      'words/resource/ssh-certificate-fields.ts',
      'words/resource/fields/ssh-authority-key.ts',
    ],
  },
  {
    why: 'the form of an entry is looked at, and one that is damaged is left out: see `Bucket.decoded`',
    sources: [
      'delivery/books/snapshots.ts',
      'delivery/wire/replays.ts',
      'management/access/key-uses.ts',
      'management/access/sessions.ts',
      'management/insight/trials.ts',
      'management/scheduled/feeds/feed-states.ts',
      'management/store/change/answers.ts',
    ],
  },
  {
    why: 'one JSON value is read in a `try`, and a value of another form counts as none',
    sources: [
      'judging/pipeline/preferred-partitions.ts',
      'management/access/usage.ts',
      'management/insight/dead-letter-owner.ts',
      'management/operate/dead-letter-answers.ts',
      'management/operate/dead-letter-resender.ts',
      'words/client/api-error.ts',
    ],
  },
  {
    why: 'another process of the deployment, of a version that it knows, made the JSON',
    sources: [
      'delivery/deliver/questions.ts',
      'delivery/ingest/published-names.ts',
      'delivery/wire/operator-events.ts',
      'judging/pipeline/audit-sources.ts',
      'judging/trial/trial-child.ts',
      'management/operate/delivery-states.ts',
      'management/operate/destination-operations.ts',
      'management/operate/letters-of-message.ts',
      'management/operate/state-changes.ts',
      'management/operate/vanished-packs.ts',
      'management/process/running-service.ts',
      'management/store/backup/backup-answers.ts',
      'outside/cli/doctor/bundle.ts',
      'outside/cli/doctor/doctor-report.ts',
      'outside/cli/operator-http.ts',
      'roles/admin.ts',
      'roles/backup.ts',
      'words/client/decisions.ts',
      'words/client/http.ts',
    ],
  },
  {
    why: 'the same process made the JSON, or checked it before',
    sources: [
      'delivery/deliver/kinds/kafka.ts',
      'delivery/deliver/kinds/sqs.ts',
      'judging/trial/event-trial.ts',
      'management/api/ip-policies/ip-policy-counts.ts',
      'management/api/log/last-traffic-routes.ts',
      'management/api/pages/open-pages.ts',
      'management/api/rule-list.ts',
      'management/exchange/covering.ts',
      'management/insight/live.ts',
      'management/insight/record-tracer.ts',
      'management/operate/targets/target-test.ts',
      'management/store/backup/copied-rows.ts',
      'management/store/history/fact-reader.ts',
      'management/telemetry/exported-logs.ts',
      'management/write/writes.ts',
      'words/event/event-ddl.ts',
      'words/resource/destination-secrets.ts',
      'words/resource/fields/ip-list-source.ts',
      'words/view/destinations.ts',
    ],
  },
  {
    why: 'the operator, or the nats-server that Weir starts, wrote it on this machine',
    sources: [
      'delivery/nats-server/files.ts',
      'delivery/nats-server/login-use.ts',
      'delivery/nats-server/nats-probe.ts',
      'delivery/nats-server/server-config.ts',
      'delivery/nats-server/store-watch.ts',
      'ground/core/files/data-format.ts',
      'ground/core/package.ts',
      'ground/core/telemetry/stack-traces.ts',
      'management/process/known-secrets.ts',
      'management/process/tls-files.ts',
      'management/store/clickhouse/embedded.ts',
      'management/store/clickhouse/tls-agent.ts',
      'outside/cli/dead-commands.ts',
      'outside/cli/publish/publish-sources.ts',
      'outside/cli/try/try.ts',
    ],
  },
  {
    why: 'a test of its own has a server that answers with anything',
    sources: [
      'delivery/deliver/aws/lean-client.ts',
      'delivery/deliver/kinds/clickhouse.ts',
      'ground/nats/outside/outside-wire.ts',
      'ground/nats/outside/outside.ts',
      'ground/nats/stream-copies.ts',
      'outside/as-code/account-state.ts',
      'outside/cli/listen.ts',
    ],
  },
  {
    why: 'a segment of a path, decoded in a `try`',
    sources: ['management/http/batch.ts', 'management/http/guard.ts'],
  },
  {
    why: 'it only has the name or the text of such a function',
    sources: ['delivery/deliver/forms/http-forms.ts', 'ground/core/bytes.ts', 'ground/core/limits.ts'],
  },
]
