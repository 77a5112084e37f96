/** Three nats-servers that form a cluster, and can be killed and started again one by one. */
import { join } from 'node:path'
import { freePort } from '../../src/nats-server/nats-probe.js'
import { OwnNats } from './own-nats.js'

const serverCount = 3

interface NatsCluster {
  readonly servers: readonly OwnNats[]
  /** All servers, in the form of `NATS_URL`. */
  readonly url: string
  close(): Promise<void>
}

/** The caller removes `dir`. `settings`: further lines of the configuration of each. */
export async function startNatsCluster(dir: string, settings = ''): Promise<NatsCluster> {
  const routes: string[] = []
  for (let n = 0; n < serverCount; n += 1) routes.push(`nats://127.0.0.1:${await freePort()}`)
  const servers = routes.map((route, n) => {
    const cluster = ['-cluster_name', 'test', '-cluster', route, '-routes', routes.join(',')]
    return new OwnNats(join(dir, `nats-${n}`), ['-n', `nats-${n}`, ...cluster], settings)
  })
  await Promise.all(servers.map((server) => server.start()))
  return {
    servers,
    url: servers.map((server) => server.url).join(','),
    close: async () => {
      for (const server of servers) await server.kill()
    },
  }
}
