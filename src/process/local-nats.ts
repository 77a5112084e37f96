/** The nats-server that Weir runs itself if no other is named, and how its processes and ingress nodes reach it. */
import { join } from 'node:path'
import type { Occurrences } from '../core/occurrences.js'
import { readUserUrl } from './nats-access.js'
import { type NatsServer, openNatsServer } from './nats-server.js'
import { natsAccess, roleInboxPrefix } from './nats-users.js'
import { localNatsServer, type Settings } from './settings.js'

export const openLocalNats = ({ nats, data }: Settings, occurrences: Occurrences): Promise<NatsServer> =>
  openNatsServer({
    executable: localNatsServer(),
    dataDir: data.dir,
    port: nats.localPort,
    storageMaxBytes: nats.storageMaxBytes,
    access: natsAccess,
    occurrences,
  })

/** The settings with which a role reaches the local server, as the environment of its process. */
export const localNatsEnvironment = (server: NatsServer, role: string): Record<string, string> => ({
  NATS_URL: server.urlOf(role),
  WEIR_NATS_INBOX_PREFIX: roleInboxPrefix(role),
})

/** The same for a process that opened the server itself. */
export const withLocalNats = (settings: Settings, server: NatsServer, role: string): Settings => ({
  ...settings,
  nats: { ...settings.nats, servers: [server.urlOf(role)], inboxPrefix: roleInboxPrefix(role) },
})

/** Where ingress nodes publish: on the local server with the password of theirs, on another one with what they were given. */
export function ingressUrl({ nats, data }: Settings): string {
  const [url = ''] = nats.servers ?? []
  const dir = join(data.dir, 'nats')
  if (readUserUrl(dir, 'api') === url) return readUserUrl(dir, 'ingress') ?? ''
  return url.replace(/\/\/[^@/]*@/, '//')
}
