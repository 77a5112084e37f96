/**
 * The secrets that a child process gets. A process may be taken over by its input, or leave a core dump, so it holds
 * only the secrets that it works with. All other variables of the environment are passed on.
 */
import { declared, type SettingGroup } from './declared-settings.js'
import { fileVariable } from './secret-files.js'

/** How the AWS SDK finds credentials in the environment. Variables that name a file, and the profile, are no secrets. */
const awsCredentials = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
]

/** How a collector of OpenTelemetry knows this service. */
const collectorHeaders = [
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'OTEL_EXPORTER_OTLP_METRICS_HEADERS',
  'OTEL_EXPORTER_OTLP_LOGS_HEADERS',
]

/** Each role has a NATS_URL of its own on the local nats-server. nats-server itself gets no secret. */
export const secretsOf = {
  api: [
    'WEIR_BOOTSTRAP_TOKEN',
    'WEIR_SECRET_KEY',
    'CLICKHOUSE_URL',
    'NATS_URL',
    'WEIR_TRIAL_NATS_URL',
    ...awsCredentials,
    ...collectorHeaders,
  ],
  pipeline: ['NATS_URL', ...collectorHeaders],
  decide: ['NATS_URL', ...collectorHeaders],
  deliver: ['WEIR_SECRET_KEY', 'NATS_URL', ...awsCredentials, ...collectorHeaders],
  quarantine: ['NATS_URL'],
  trial: ['NATS_URL'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** A role that another process may start. */
export type ChildRole = keyof typeof secretsOf

const ofRoles: readonly string[] = Object.values(secretsOf).flat()

/** Settings that are secrets. An address of the table is one too: it may carry a password. */
export const secretSettings: ReadonlySet<string> = new Set(
  Object.values<SettingGroup>(declared)
    .flatMap((group) => Object.values(group))
    .filter(({ env, form }) => form.secret === true || ofRoles.includes(env))
    .map(({ env }) => env),
)

const secretNames: ReadonlySet<string> = new Set([...secretSettings, ...ofRoles])

/** By the variable that names a file: the secret in it. */
const secretInFile: ReadonlyMap<string, string> = new Map(
  [...secretSettings].map((env) => [fileVariable(env), env]),
)

/** May a process that gets only these secrets have this variable or setting? */
export function mayHave(name: string, secrets: readonly string[]): boolean {
  const secret = secretInFile.get(name) ?? name
  return !secretNames.has(secret) || secrets.includes(secret)
}

/** Does a variable of this name hold a secret, of Weir or of what it uses? */
export const isSecretName = (name: string): boolean =>
  secretNames.has(name) || /(SECRET|PASSWORD|PASSWD|TOKEN|PRIVATE_KEY|API_KEY)$/.test(name)
