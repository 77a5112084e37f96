/**
 * A process that sends events to a destination of the kind `file`, for tests with several of them.
 *
 *     node dist/test/delivery/deliver/file-writer.js DIRECTORY PREFIX REQUESTS OPTIONS
 *
 * prints `accepted <id>` for the last event of each request that was accepted.
 */
import { fileURLToPath } from 'node:url'
import { someEvents } from './events.js'
import { openFile } from './file-sender.js'

const eventsPerRequest = 20
const padding = 'x'.repeat(500)

async function main([directory = '', prefix = '', requests = '0', options = '{}']: string[]): Promise<void> {
  const sender = openFile(directory, JSON.parse(options))
  for (let request = 0; request < Number(requests); request += 1) {
    const events = someEvents(eventsPerRequest, `${prefix}_${request}_`, { padding })
    for (;;) {
      const { outcome } = await sender.send(events, new AbortController().signal)
      if (outcome === 'accepted') break
    }
    process.stdout.write(`accepted ${prefix}_${request}_\n`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2))
