/**
 * A role for the tests of the supervisor: writes what happens to it to a file, and answers over HTTP so that a test
 * can ask it things. Its arguments: name, file, and how it behaves.
 */

import { appendFileSync } from 'node:fs'
import { sleep } from '../../../src/ground/core/clock.js'
import type { ListeningServer } from '../../../src/ground/core/http-listen.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { counterOf, createRegistry, metricsSnapshot } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { type Role, runRole } from '../../../src/management/process/child.js'
import { openOpsServer } from '../../../src/management/process/ops-server.js'

const [, , name = '', file = '', behaviour = ''] = process.argv
const write = (what: string) => appendFileSync(file, `${name} ${what}\n`)
const registry = createRegistry()
const occurrences = createOccurrences({ logger: createLogger('test', 'silent'), registry })

await runRole({
  logger: createLogger('test', 'silent'),
  occurrences,
  open: async ({ parent, release }): Promise<Role> => {
    write(`starts ${process.pid} ${process.env['LAST'] ?? ''}`)
    if (behaviour === 'refuses') throw new Error('A file is missing.')
    if (behaviour === 'crashes') process.exit(3)
    if (behaviour === 'hangs') await sleep(60_000)
    let server: ListeningServer | undefined
    release.add(async () => {
      write('stops')
      if (behaviour === 'clings') await sleep(60_000)
      await server?.close()
      write('stopped')
    })
    if (behaviour === 'waits') await new Promise(() => {})
    // As a native call may do it: no timer fires, and no message arrives.
    while (behaviour === 'blocks');
    counterOf(registry, 'weir_test_total', 'Of the test.', ['kind']).inc({ kind: 'a' }, 2)
    server = await openOpsServer({
      host: '127.0.0.1',
      port: 0,
      failing: () => parent?.ask('failing') ?? {},
      metrics: () => parent?.ask('metrics') ?? Promise.resolve(''),
    })
    return {
      addresses: { ops: server.url, pid: String(process.pid) },
      failing: async () => (behaviour === 'fails' ? { nats: 'Away.' } : {}),
      metrics: async () => [await metricsSnapshot(registry)],
    }
  },
})
