/** Processes that a role starts for itself: the same program with another role as its argument. */
import { type ChildProcess, fork } from 'node:child_process'
import { forkOptions } from '../core/source-maps.js'
import type { RoleContext } from './role-context.js'
import { type RoleSpec, Supervisor } from './supervisor.js'

export interface Program {
  /** The compiled command line. */
  readonly module: string
  /** Its arguments for a role, with the same settings as this process. */
  readonly argumentsOf: (role: string) => string[]
}

const readyTimeoutMs = 60_000
/** Longer than a stopping role waits for NATS and for its requests to AWS. */
const stopTimeoutMs = 25_000

/** A role to be run by a supervisor. */
export const roleSpec = (
  { module, argumentsOf }: Program,
  name: string,
  env: RoleSpec['env'] = () => ({}),
): RoleSpec => ({ name, module, argv: argumentsOf(name), env, readyTimeoutMs, stopTimeoutMs })

/** The first process of a role has its name, the others a number: health, metrics and log tell them apart. */
export const workerNames = (role: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => (index === 0 ? role : `${role}-${index + 1}`))

/** Starts the process that answers decisions for a pipeline that runs alone: records must not delay an answer. */
export const startDecider = ({ occurrences, registry }: RoleContext, program: Program): Supervisor =>
  new Supervisor({ roles: [roleSpec(program, 'decide')], occurrences, registry })

const forkChild = ({ module, argumentsOf }: Program, name: string): ChildProcess =>
  fork(module, argumentsOf(name), {
    execArgv: forkOptions(),
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

/** Forks the quarantine process. It exchanges raw buffers and is expected to crash on poisonous records. */
export const forkQuarantine = (program: Program): ChildProcess => forkChild(program, 'quarantine')

/** Forks the process of a trial. */
export const forkTrial = (program: Program): ChildProcess => forkChild(program, 'trial')
