/**
 * Names the input that a parser does not return from: no other code of the process runs then. A thread looks at the memory
 * that both share, and ends the process if an input takes that much CPU.
 */
import { Worker } from 'node:worker_threads'
import type { FuzzedParser } from './parser.js'

const cpuSecondsMax = 60
const inputBytesMax = 1024 * 1024

/** In JavaScript: a thread begins with a file or a text. */
const watch = `
const { workerData: { shared, seconds } } = require('node:worker_threads')
const [counter, length] = [new Int32Array(shared, 0, 2), 1]
let [last, began] = [-1, process.cpuUsage()]
setInterval(() => {
  const now = Atomics.load(counter, 0)
  if (now !== last) [last, began] = [now, process.cpuUsage()]
  const { user } = process.cpuUsage(began)
  if (user < seconds * 1e6) return
  const text = Buffer.from(new Uint8Array(shared, 8, Atomics.load(counter, length))).toString('latin1')
  require('node:fs').writeSync(2, 'fuzz: more than ' + seconds + ' s for this input: ' + JSON.stringify(text) + '\\n')
  process.kill(process.pid, 'SIGKILL')
}, 1000)
`

interface Watchdog {
  /** Before each input. */
  readonly notice: (parser: FuzzedParser, input: Buffer) => void
  readonly stop: () => void
}

export function watchdog(): Watchdog {
  const shared = new SharedArrayBuffer(8 + inputBytesMax)
  const [counter, room] = [new Int32Array(shared, 0, 2), Buffer.from(shared, 8)]
  const worker = new Worker(watch, { eval: true, workerData: { shared, seconds: cpuSecondsMax } })
  worker.unref()
  return {
    notice: ({ name }, input) => {
      const head = room.write(`${name}: `, 'latin1')
      Atomics.store(counter, 1, head + input.copy(room, head))
      Atomics.add(counter, 0, 1)
    },
    stop: () => void worker.terminate(),
  }
}
