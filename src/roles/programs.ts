/** Processes that a role starts for itself: the same program with another role as its argument. */
import { type ChildProcess, fork } from 'node:child_process'
import { roleInboxPrefix } from '../delivery/nats-server/role-users.js'
import { forkOptions } from '../ground/core/package.js'
import type { RoleContext } from '../management/process/role-context.js'
import { type ChildRole, secretsOf } from '../management/process/role-secrets.js'
import { childEnvironment, type Settings } from '../management/process/settings.js'
import { type RoleSpec, Supervisor } from '../management/process/supervisor.js'

export interface Program {
  /** The compiled command line. */
  readonly module: string
  /** Its arguments for a role, with the same settings as this process. */
  readonly argumentsOf: (role: ChildRole) => string[]
}

/**
 * A role is ready within seconds, but with twenty other processes at each core it takes more than a minute. One that is
 * ended too early starts again, and makes the machine busier.
 */
const readyTimeoutMs = 180_000
/** Longer than a stopping role waits for NATS and for its requests to AWS. */
const stopTimeoutMs = 25_000

/** A role to be run by a supervisor. */
export const roleSpec = (
  { module, argumentsOf }: Program,
  name: ChildRole,
  env: RoleSpec['env'] = () => ({}),
): RoleSpec => ({
  name,
  module,
  argv: argumentsOf(name),
  secrets: secretsOf[name],
  env,
  readyTimeoutMs,
  stopTimeoutMs,
})

/** The first process of a role has its name, the others a number: health, metrics and log tell them apart. */
export const workerNames = (role: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => (index === 0 ? role : `${role}-${index + 1}`))

/** Starts the process that answers decisions for a pipeline that runs alone: records must not delay an answer. */
export const startDecider = ({ occurrences, registry }: RoleContext, program: Program): Supervisor =>
  new Supervisor({ roles: [roleSpec(program, 'decide')], occurrences, registry })

const forkChild = (
  { module, argumentsOf }: Program,
  name: ChildRole,
  env: Readonly<Record<string, string>> = {},
): ChildProcess =>
  fork(module, argumentsOf(name), {
    env: childEnvironment(secretsOf[name], env),
    execArgv: forkOptions(),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

/** Forks the quarantine process. It exchanges raw buffers and is expected to crash on poisonous records. */
export const forkQuarantine = (program: Program): ChildProcess => forkChild(program, 'quarantine')

/** Forks the process of a trial. It connects as the user that may only read, if there is one. */
export const forkTrial = (
  program: Program,
  { trial: { natsServers, urlFile, creds, nkey } }: Settings,
): ChildProcess => {
  if (natsServers === undefined) return forkChild(program, 'trial')
  const env = {
    NATS_URL: urlFile === undefined ? natsServers.join(',') : '',
    ...(urlFile !== undefined && { NATS_URL_FILE: urlFile }),
    WEIR_NATS_INBOX_PREFIX: roleInboxPrefix('trial'),
    ...(creds !== undefined && { WEIR_NATS_CREDS: creds }),
    ...(nkey !== undefined && { WEIR_NATS_NKEY: nkey }),
  }
  return forkChild(program, 'trial', env)
}
