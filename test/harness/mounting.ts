/** Programs that mount file systems for tests. */
import { spawnSync } from 'node:child_process'

/** Why it failed; undefined if it went well. */
export function faultOf(program: string, ...args: string[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? undefined : (error?.message ?? stderr.trim())
}

export function mustRun(program: string, ...args: string[]): void {
  const fault = faultOf(program, ...args)
  if (fault !== undefined) throw new Error(`${program} ${args.join(' ')}: ${fault}`)
}

/** A program that just ended may still hold it. */
export const unmount = (dir: string): unknown =>
  faultOf('umount', dir) === undefined || faultOf('umount', '-l', dir)
