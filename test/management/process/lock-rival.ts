/** A process that competes for the lock named by its argument when asked to, and then keeps it. */
import { tryLock } from '../../../src/management/process/file-lock.mjs'

const path = process.argv[2] ?? ''
process.on('message', () => process.send?.({ held: tryLock(path).held }))
process.send?.('ready')
