/** The exit codes of commands. The guide says what 1 means for each; `docs/cli.md` has both as tables. */
import { StartFault } from '../../../ground/core/errors.js'
import { NoAnswer } from '../../../management/process/running-service.js'

/** The words or options of a command are wrong: nothing was done. */
export class UsageFault extends StartFault {}

export const exitCode = { done: 0, found: 1, misused: 2, accessLost: 3, unanswered: 4 } as const

type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** In the order of the codes. */
export const exitMeanings: readonly string[] = [
  'done, and nothing was found that needs a hand',
  'something was found, or what was asked for was refused',
  'called wrongly: nothing was done',
  'a client would lose access, and no test expects it: only weir plan --try',
  'no answer: no service runs there, or it failed',
]

/** How a command ends that was left by this error. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageFault) return exitCode.misused
  if (error instanceof NoAnswer || isServerFault(error)) return exitCode.unanswered
  return exitCode.found
}

/** An `ApiError`, whose class would load the client of the API with every command. */
const isServerFault = (error: unknown): boolean =>
  error instanceof Error && 'status_code' in error && Number(error.status_code) >= 500

/** `parsed`: the code with which commander ends, which knows no other failure than a wrong call. */
export const exitCodeOfParsing = (parsed: number): ExitCode =>
  parsed === 0 ? exitCode.done : exitCode.misused
