/** The command `weir demo`, and the directories it leaves behind. */
import { readdirSync } from 'node:fs'
import { sleep } from '../../../src/ground/core/clock.js'
import { type Running, run } from '../../harness/processes.js'

/**
 * For a whole file, below the limit of the runner. A machine with ten times as many processes as cores needs minutes for a
 * demo; one that does not go on ends itself, and says where.
 */
export const fileTimeoutMs = 840_000

/** Its directories are created in `tmp`, which no other program uses. */
export const demo = (tmp: string, ...args: string[]): Running =>
  run('programs/main.js', ['demo', ...args], { TMPDIR: tmp })

export const exitCode = ({ child }: Running): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode)
    // Unlike `exit`, this comes after the last of its output.
    child.once('close', resolve)
  })

const lookEveryMs = 50

/** Resolves with the first match of a line; rejects when the demo has ended without it. */
export async function said(running: Running, pattern: RegExp): Promise<RegExpExecArray> {
  for (;;) {
    const { exitCode, signalCode } = running.child
    const hasEnded = exitCode !== null || signalCode !== null
    for (const line of running.output().split('\n')) {
      const match = pattern.exec(line)
      if (match !== null) return match
    }
    if (hasEnded) throw new Error(`The demo ended before a line like ${pattern} came:\n${running.output()}`)
    await sleep(lookEveryMs)
  }
}

export const directoriesIn = (tmp: string): string[] =>
  readdirSync(tmp).filter((name) => name.startsWith('weir-demo-'))
