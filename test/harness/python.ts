/** Is there a Python that can open terminals? Tests of what a person sees need one. */
import { execFileSync } from 'node:child_process'

export const hasPython = (() => {
  try {
    execFileSync('python3', ['-c', 'import pty'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()
