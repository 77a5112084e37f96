/** The command `weir demo`, and the directories it leaves behind. */
import { readdirSync } from 'node:fs'
import { type Running, run } from '../harness/processes.js'

/** Its directories are created in `tmp`, which no other program uses. */
export const demo = (tmp: string, ...args: string[]): Running =>
  run('programs/main.js', ['demo', ...args], { TMPDIR: tmp })

export const exitCode = ({ child }: Running): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode)
    // Unlike `exit`, this comes after the last of its output.
    child.once('close', resolve)
  })

export const directoriesIn = (tmp: string): string[] =>
  readdirSync(tmp).filter((name) => name.startsWith('weir-demo-'))
