/**
 * The emulator as a process: `node dist/programs/emulator.js --port 0` prints `aws: http://127.0.0.1:PORT`.
 *
 *   --host ADDRESS      to listen on; default 127.0.0.1
 *   --port N            default: any free port
 *   --keep all|ids|counts   how much is kept of the events that arrive; default all
 *   --seed N            for the randomness of faults
 *   --with-parent       end when standard input closes, so that it never outlives its parent
 */
import { parseArgs } from 'node:util'
import { openEmulator } from './emulator.js'
import type { Keep } from './wire.js'

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    keep: { type: 'string', default: 'all' },
    seed: { type: 'string', default: '1' },
    'with-parent': { type: 'boolean', default: false },
  },
})

if (!['all', 'ids', 'counts'].includes(values.keep)) throw new Error('--keep is all, ids or counts.')

const emulator = await openEmulator({
  host: values.host,
  port: Number(values.port),
  keep: values.keep as Keep,
  seed: Number(values.seed),
})

async function stop(): Promise<void> {
  await emulator.close()
  process.exit(0)
}

process.once('SIGTERM', stop)
process.once('SIGINT', stop)
if (values['with-parent']) process.stdin.resume().once('close', stop).once('end', stop)

process.stdout.write(`aws: ${emulator.url}\n`)
