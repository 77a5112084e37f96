/** Preloaded into a command by `--import`, which is then killed right before its n-th change of a file (`KILLED_AT_CHANGE`). */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const killedAt = Number(process.env['KILLED_AT_CHANGE'])
let changes = 0

for (const name of ['writeFileSync', 'renameSync', 'linkSync', 'rmSync'] as const) {
  const change = fs[name] as (...args: unknown[]) => unknown
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      changes += 1
      if (changes === killedAt) process.kill(process.pid, 'SIGKILL')
      return change(...args)
    },
  })
}
syncBuiltinESMExports()
