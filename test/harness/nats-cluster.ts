/** Three nats-servers that form a cluster, and can be killed and started again one by one. */
import { join } from 'node:path'
import { freePorts } from './free-ports.js'
import { OwnNats } from './own-nats.js'

const serverCount = 3
export const clusterName = 'test'
export const serverName = (n: number): string => `nats-${n}`

export interface NatsCluster {
  readonly servers: readonly OwnNats[]
  /** All servers, in the form of `NATS_URL`. */
  readonly url: string
  /** Each server takes other further lines of the configuration. */
  reload(settings: string): Promise<void>
  close(): Promise<void>
}

/** The caller removes `dir`. `settings`: further lines of the configuration of each. */
export async function startNatsCluster(dir: string, settings = ''): Promise<NatsCluster> {
  const listens = (await freePorts(serverCount)).map((port) => `127.0.0.1:${port}`)
  const routes = listens.map((listen) => `nats://${listen}`)
  // In the file, because a server that loads it again looks for them there. By its tag, a stream can be put on a server.
  const settingsOf = (n: number, more: string): string =>
    `server_name: ${serverName(n)}\nserver_tags: ${serverName(n)}\ncluster: ${JSON.stringify({ name: clusterName, listen: listens[n], routes })}\n${more}`
  const servers = listens.map((_, n) => new OwnNats(join(dir, serverName(n)), [], settingsOf(n, settings)))
  await Promise.all(servers.map((server) => server.start()))
  return {
    servers,
    url: servers.map((server) => server.url).join(','),
    reload: async (more) => {
      for (const [n, server] of servers.entries()) await server.reload(settingsOf(n, more))
    },
    close: async () => {
      for (const server of servers) await server.kill()
    },
  }
}
