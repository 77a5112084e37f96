/** Real processes for tests: started, waited for, and ended even if the test fails. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The root of the compiled tree, and its parent directory. */
const dist = fileURLToPath(new URL('../../', import.meta.url))
const checkout = fileURLToPath(new URL('../../../', import.meta.url))

export const compiled = (path: string): string => `${dist}${path}`

const readyTimeoutMs = 300_000
/** Longer than `weir serve` waits for its own processes (`process/child.ts`). */
const endTimeoutMs = 60_000
/** Time to read its last lines. A child that it left behind may keep the pipe open for longer. */
const lastLinesMs = 10_000

/** How a process ended. */
interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly ended: Promise<Ending>
  /** All output so far, of both streams. */
  output(): string
  /** Resolves with the first match of a line of its output. */
  line(pattern: RegExp): Promise<RegExpExecArray>
  /** SIGTERM, and SIGKILL if that does not help; resolves with how it ended. */
  stop(): Promise<Ending>
  /** SIGKILL. */
  kill(): Promise<void>
}

/**
 * Runs a compiled program of the tree. `env` is added to this process' own. Reading source maps would be a sixth of a
 * role's start, of which there are hundreds here; `NODE_OPTIONS=--enable-source-maps` has them read.
 */
export function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  return runFile(compiled(program), args, env)
}

/** The same with a pipe as standard input. */
export const runWithInput = (
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running => runFile(compiled(program), args, env, 'pipe')

/** Runs any file that Node runs. */
export function runFile(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): Running {
  const child = spawn(process.execPath, [file, ...args], {
    ...optionsOf(env),
    stdio: [stdin, 'pipe', 'pipe'],
  })
  return watched(child, (signal) => child.kill(signal))
}

/** Runs any program. */
export function runProgram(program: string, args: readonly string[]): Running {
  const child = spawn(program, [...args], { ...optionsOf({}), stdio: ['ignore', 'pipe', 'pipe'] })
  return watched(child, (signal) => child.kill(signal))
}

/** `npm start` in this checkout, as a process group, so that signals reach all of it, as in a terminal. */
export function runNpmStart(env: Readonly<Record<string, string>>): Running {
  const child = spawn('npm', ['start'], { ...optionsOf(env), cwd: checkout, detached: true })
  const group = child.pid
  if (group === undefined) throw new Error('npm could not be started.')
  return watched(child, (signal) => signalGroup(group, signal))
}

/** Sends a signal as a terminal does: to every process of the group. */
export function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const optionsOf = (env: Readonly<Record<string, string>>): SpawnOptions => ({
  env: { ...process.env, WEIR_LOG_LEVEL: 'warn', ...env },
  stdio: ['ignore', 'pipe', 'pipe'],
})

function watched(child: ChildProcess, send: (signal: NodeJS.Signals) => void): Running {
  const lines: string[] = []
  const listeners = new Set<(line: string) => void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream! }).on('line', (line) => {
      lines.push(line)
      for (const listener of listeners) listener(line)
    })
  }
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve({ code, signal })
      setTimeout(() => {
        child.stdout?.destroy()
        child.stderr?.destroy()
      }, lastLinesMs).unref()
    })
  })
  const output = (): string => lines.join('\n')
  return {
    child,
    pid: child.pid ?? 0,
    ended,
    output,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`No line like ${pattern} came:\n${output()}`)),
          readyTimeoutMs,
        )
        const look = (line: string): void => {
          const match = pattern.exec(line)
          if (match === null) return
          clearTimeout(timer)
          listeners.delete(look)
          resolve(match)
        }
        listeners.add(look)
        for (const line of [...lines]) look(line)
        void ended.then(({ code }) => {
          clearTimeout(timer)
          if (listeners.has(look))
            reject(new Error(`The process ended (${code}) before a line like ${pattern} came:\n${output()}`))
        })
      }),
    stop: async () => {
      send('SIGTERM')
      const timer = setTimeout(() => send('SIGKILL'), endTimeoutMs)
      const how = await ended
      clearTimeout(timer)
      return how
    },
    kill: async () => {
      send('SIGKILL')
      await ended
    },
  }
}

/** Sends SIGSTOP, and returns when the process has stopped: until then, it goes on for a moment. */
export function freeze(pid: number): void {
  process.kill(pid, 'SIGSTOP')
  const state = (): string | undefined => /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]
  while (process.platform === 'linux' && state() !== 'T');
}
