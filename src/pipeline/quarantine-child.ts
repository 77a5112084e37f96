/** The other side of quarantine: tries records one by one, and says of each that it is through with it. */
import { once } from 'node:events'
import type { FromQuarantine, Trial } from './quarantine.js'

/** Resolves when the parent is gone or has enough. */
export async function tryRecords(evaluate: (record: Uint8Array) => void): Promise<void> {
  const tell = (message: FromQuarantine): void => {
    process.send?.(message, () => {})
  }
  process.on('message', ({ id, record }: Trial) => {
    evaluate(record)
    tell({ type: 'survived', id })
  })
  tell({ type: 'ready' })
  if (process.connected) await once(process, 'disconnect')
}
