/** One `weir serve` with a made-up kind of event and one of destination, for all files of this process: it starts slowly. */
import { pathToFileURL } from 'node:url'
import root from 'tap'
import { compiled } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type Emulator, type RunningWeir, serveModules, startEmulator, startWeir } from '../harness/weir.js'

const added = ['words/event/add-ssh-session-ended.js', 'delivery/deliver/add-http-lines.js']

interface Service {
  readonly weir: RunningWeir
  readonly emulator: Emulator
}

interface Test {
  teardown(close: () => unknown): void
}

let opened: Promise<Service> | undefined

async function startService(): Promise<Service> {
  const dataDir = tempDir(root)
  const emulator = await startEmulator()
  root.teardown(() => emulator.stop())
  const imports = added.map((file) => `--import=${pathToFileURL(compiled(`test/${file}`)).href}`)
  const env = {
    AWS_ENDPOINT_URL: emulator.url,
    NODE_OPTIONS: imports.join(' '),
    WEIR_HTTP_LINES_REQUEST_MAX: '64KiB',
  }
  const weir = await startWeir(dataDir, env, '', serveModules)
  root.teardown(() => weir.stop())
  return { weir, emulator }
}

/** Host names belong to one edge: those of the test are deleted after it. */
export async function openAddedKinds(t: Test): Promise<Service> {
  opened ??= startService()
  const service = await opened
  const { tcpEdge } = service.weir.api
  t.teardown(async () => {
    for await (const { id } of tcpEdge.list()) await tcpEdge.delete(id)
  })
  return service
}
