/** The child process of quarantine: tries records one by one and reports each that it survived. */
import { once } from 'node:events'
import type { FromQuarantine, Trial } from './quarantine.js'

/** Resolves when the parent ends or disconnects. */
export async function tryRecords(evaluate: (record: Uint8Array) => void): Promise<void> {
  const report = (message: FromQuarantine): void => {
    process.send?.(message, () => {})
  }
  process.on('message', ({ id, record }: Trial) => {
    evaluate(record)
    report({ type: 'survived', id })
  })
  report({ type: 'ready' })
  if (process.connected) await once(process, 'disconnect')
}
