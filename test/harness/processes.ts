/** Real processes for tests: started, waited for, and ended, whatever becomes of the test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The root of the compiled tree. */
const dist = fileURLToPath(new URL('../../', import.meta.url))

export const compiled = (path: string): string => `${dist}${path}`

const readyTimeoutMs = 60_000
const endTimeoutMs = 20_000

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  /** Everything it wrote so far, both streams. */
  output(): string
  /** Resolves with the first match of a line that is written from its start on. */
  line(pattern: RegExp): Promise<RegExpExecArray>
  /** SIGTERM, and SIGKILL where that does not help; resolves with how it ended. */
  stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** SIGKILL. */
  kill(): Promise<void>
}

/** Runs a compiled program of the tree. `env` is added to this process' own. */
export function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(process.execPath, ['--enable-source-maps', compiled(program), ...args], {
    env: { ...process.env, WEIR_LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const listeners = new Set<(line: string) => void>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      for (const listener of listeners) listener(line)
    })
  }
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const output = (): string => lines.join('\n')
  return {
    child,
    pid: child.pid ?? 0,
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
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs)
      const how = await ended
      clearTimeout(timer)
      return how
    },
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
