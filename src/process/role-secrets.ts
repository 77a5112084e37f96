/**
 * Which secrets a process that Weir starts is given: one that may be taken over by what it parses, or leaves a core dump,
 * holds no more than it works with. Everything else of the environment is passed on.
 */
import { declared, type SettingGroup } from './declared-settings.js'

/** How the AWS SDK finds credentials in the environment. Variables that name a file, and the profile, are no secrets. */
const awsCredentials = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
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
  ],
  pipeline: ['NATS_URL'],
  decide: ['NATS_URL'],
  deliver: ['WEIR_SECRET_KEY', 'NATS_URL', ...awsCredentials],
  quarantine: ['NATS_URL'],
  trial: ['NATS_URL'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** A role that another process may start. */
export type ChildRole = keyof typeof secretsOf

/** Settings that are secrets. An address of the table is one too: it may carry a password. */
const secretSettings = Object.values<SettingGroup>(declared)
  .flatMap((group) => Object.values(group))
  .filter((setting) => setting.form.secret)
  .map((setting) => setting.env)

const secretNames: ReadonlySet<string> = new Set([...secretSettings, ...Object.values(secretsOf).flat()])

/** May a process have this variable or setting that is given only these secrets? */
export const mayHave = (name: string, secrets: readonly string[]): boolean =>
  !secretNames.has(name) || secrets.includes(name)
