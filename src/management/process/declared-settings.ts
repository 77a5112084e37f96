/**
 * The table of settings. `config/default.jsonc` documents each one with its default. Each destination kind adds its own.
 */
import type { DestinationKind } from '../../delivery/deliver/kind/kind.js'
import { destinationKinds, requestMaxSetting } from '../../delivery/deliver/kinds.js'
import { privateNetworksSetting } from '../../delivery/outgoing/private-networks.js'
import { partitionsMax } from '../../delivery/wire/partitions.js'
import { samplerNames } from '../telemetry/signals.js'
import * as form from './setting-value.js'

/** Lower bound of the request size settings; a larger event gets a request of its own. */
const requestBytesMin = 64 * 1024

export interface Setting<T> {
  readonly env: string
  readonly form: form.ValueForm<T>
  /** May stay unset. */
  readonly optional?: true
  /** The default of a setting that is not in `config/default.jsonc`. */
  readonly fallback?: T
}

const required = <T>(env: string, of: form.ValueForm<T>): Setting<T> => ({ env, form: of })
const optional = <T>(env: string, of: form.ValueForm<T>): Setting<T | undefined> => ({
  env,
  form: of,
  optional: true,
})

const secondMs = 1000
const dayMs = 24 * 60 * 60 * secondMs
const mebibyte = 1024 ** 2
const tebibyte = 1024 ** 4
const workersMax = 64

const storageSize = form.size(16 * mebibyte, 1024 * tebibyte, '512MiB or 8GiB')

/** Where one of the three signals of OpenTelemetry goes, if it does not go where all do. */
const exported = <const Signal extends 'TRACES' | 'METRICS' | 'LOGS'>(signal: Signal) => ({
  exporter: optional(`OTEL_${signal}_EXPORTER`, form.oneOf('otlp', 'none')),
  endpoint: optional(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`, form.plainUrl),
  headers: optional(`OTEL_EXPORTER_OTLP_${signal}_HEADERS`, form.secretPairs),
})

export const declared = {
  api: {
    host: required('WEIR_HOST', form.host),
    port: required('WEIR_PORT', form.integer(0, 65_535)),
    baseUrl: optional('WEIR_BASE_URL', form.baseUrl),
    bootstrapToken: optional('WEIR_BOOTSTRAP_TOKEN', form.accessToken),
    versionHeaders: required('WEIR_VERSION_HEADERS', form.headerNames),
    tcpDomain: required('WEIR_TCP_DOMAIN', form.domain),
    sshAnyHost: required('WEIR_SSH_ANY_HOST', form.oneOf('empty', 'star')),
    rateLimitPerMinute: required('WEIR_RATE_LIMIT', form.integer(0, 1_000_000_000)),
    recordsPerMinute: required('WEIR_RECORD_RATE_LIMIT', form.integer(0, 1_000_000_000)),
    trustedProxies: optional('WEIR_TRUST_PROXY', form.cidrs),
  },
  client: {
    url: optional('WEIR_API_URL', form.httpUrl),
    key: optional('WEIR_API_KEY', form.accessToken),
    profile: optional('WEIR_PROFILE', form.name),
  },
  trial: {
    natsServers: optional('WEIR_TRIAL_NATS_URL', form.natsServers),
    creds: optional('WEIR_TRIAL_NATS_CREDS', form.file),
    nkey: optional('WEIR_TRIAL_NATS_NKEY', form.file),
  },
  workers: {
    pipelines: optional('WEIR_PIPELINES', form.integer(1, workersMax)),
    deliverers: optional('WEIR_DELIVERERS', form.integer(1, workersMax)),
  },
  decide: {
    port: optional('WEIR_DECIDE_PORT', form.integer(0, 65_535)),
    explain: required('WEIR_DECIDE_EXPLAIN', form.oneOf('on', 'off')),
  },
  ops: {
    port: optional('WEIR_OPS_PORT', form.integer(0, 65_535)),
    host: optional('WEIR_OPS_HOST', form.host),
    apiPort: optional('WEIR_API_OPS_PORT', form.integer(0, 65_535)),
    logLevel: required('WEIR_LOG_LEVEL', form.oneOf('debug', 'info', 'warn', 'error', 'silent')),
    metricsDestinationsMax: required('WEIR_METRICS_DESTINATIONS_MAX', form.integer(0, 10_000)),
    logFormat: required('WEIR_LOG_FORMAT', form.oneOf('auto', 'json', 'pretty')),
  },
  telemetry: {
    disabled: required('OTEL_SDK_DISABLED', form.oneOf('true', 'false')),
    protocol: required('OTEL_EXPORTER_OTLP_PROTOCOL', form.oneOf('http/protobuf')),
    endpoint: optional('OTEL_EXPORTER_OTLP_ENDPOINT', form.baseUrl),
    headers: optional('OTEL_EXPORTER_OTLP_HEADERS', form.secretPairs),
    timeoutMs: required('OTEL_EXPORTER_OTLP_TIMEOUT', form.integer(100, 60 * secondMs)),
    compression: required('OTEL_EXPORTER_OTLP_COMPRESSION', form.oneOf('none', 'gzip')),
    serviceName: optional('OTEL_SERVICE_NAME', form.line),
    resource: optional('OTEL_RESOURCE_ATTRIBUTES', form.pairs),
    metricsEveryMs: required('OTEL_METRIC_EXPORT_INTERVAL', form.integer(secondMs, 60 * 60 * secondMs)),
    sampler: required('OTEL_TRACES_SAMPLER', form.oneOf(...samplerNames)),
    samplerArgument: required('OTEL_TRACES_SAMPLER_ARG', form.share),
  },
  traces: exported('TRACES'),
  metrics: exported('METRICS'),
  logs: exported('LOGS'),
  data: {
    dir: required('WEIR_DATA_DIR', form.path),
    secretKey: optional('WEIR_SECRET_KEY', form.secretKeyText),
  },
  nats: {
    servers: optional('NATS_URL', form.natsServers),
    creds: optional('WEIR_NATS_CREDS', form.file),
    nkey: optional('WEIR_NATS_NKEY', form.file),
    ca: optional('WEIR_NATS_CA', form.file),
    cert: optional('WEIR_NATS_CERT', form.file),
    key: optional('WEIR_NATS_KEY', form.file),
    tls: required('WEIR_NATS_TLS', form.oneOf('greeted', 'first')),
    localPort: required('WEIR_NATS_PORT', form.integer(0, 65_535)),
    sync: required('WEIR_NATS_SYNC', form.oneOf('interval', 'always')),
    inboxPrefix: required('WEIR_NATS_INBOX_PREFIX', form.subjectPrefix),
    replicas: required('WEIR_NATS_REPLICAS', form.integer(1, 5)),
    partitions: required('WEIR_PARTITIONS', form.integer(1, partitionsMax)),
    ownConsumersMax: required('WEIR_OWN_CONSUMERS_MAX', form.integer(0, 10_000)),
    retentionMs: required('WEIR_RETENTION', form.duration(10 * secondMs, 365 * dayMs)),
    storageMaxBytes: required('WEIR_STORAGE_MAX', storageSize),
  },
  decisionLog: {
    rows: required('WEIR_DECISION_LOG', form.oneOf('all', 'blocked', 'off')),
    bytesMax: required('WEIR_DECISION_LOG_MAX', storageSize),
    storagePolicy: optional('WEIR_DECISION_LOG_STORAGE_POLICY', form.name),
    volume: optional('WEIR_DECISION_LOG_VOLUME', form.name),
    moveAfterMs: required('WEIR_DECISION_LOG_MOVE_AFTER', form.duration(10 * secondMs, 365 * dayMs)),
  },
  clickhouse: {
    url: optional('CLICKHOUSE_URL', form.httpUrl),
    cluster: optional('CLICKHOUSE_CLUSTER', form.name),
    ca: optional('CLICKHOUSE_CA', form.file),
    cert: optional('CLICKHOUSE_CERT', form.file),
    key: optional('CLICKHOUSE_KEY', form.file),
  },
  geo: { databases: optional('WEIR_GEOIP_DB', form.paths) },
  lists: { directory: optional('WEIR_LIST_DIRECTORY', form.directory) },
  delivery: { privateNetworks: optional(privateNetworksSetting, form.cidrs) },
  aws: {
    endpointUrl: optional('AWS_ENDPOINT_URL', form.httpUrl),
    stsEndpointUrl: optional('AWS_ENDPOINT_URL_STS', form.httpUrl),
  },
}

export type SettingGroup = Readonly<Record<string, Setting<unknown>>>

/** The settings of a destination kind. */
const settingsOfKind = (kind: DestinationKind): SettingGroup => ({
  ...(kind.endpointSetting !== undefined && { endpointUrl: optional(kind.endpointSetting, form.httpUrl) }),
  ...(kind.directorySetting !== undefined && { directory: optional(kind.directorySetting, form.directory) }),
  ...(kind.spaceSetting !== undefined && { spaceBytesMax: optional(kind.spaceSetting, storageSize) }),
  // Up to the service's own limit.
  requestBytesMax: {
    ...required(requestMaxSetting(kind), form.size(requestBytesMin, kind.requestBytes.max, '512KiB or 1MiB')),
    fallback: kind.requestBytes.default,
  },
})

export const declaredOfKinds: Readonly<Record<string, SettingGroup>> = Object.fromEntries(
  destinationKinds.map((kind) => [kind.name, settingsOfKind(kind)]),
)
