/** The nats-server that Weir runs if NATS_URL is not set, and how its processes and ingress nodes reach it. */
import { localNatsDir, loginFile, readUserUrl } from '../delivery/nats-server/logins.js'
import { storedStreams } from '../delivery/nats-server/nats-access.js'
import { type NatsServer, openNatsServer } from '../delivery/nats-server/nats-server.js'
import { natsAccess } from '../delivery/nats-server/nats-users.js'
import { natsUserOf, roleInboxPrefix } from '../delivery/nats-server/role-users.js'
import { partitionBytesMin, partitionsAmong } from '../delivery/wire/partitions.js'
import { probeStreamOptions } from '../delivery/wire/streams.js'
import type { Occurrences } from '../ground/core/telemetry/occurrences.js'
import type { Runtime } from '../management/process/running-service.js'
import { localNatsServer, localNatsServerEnvironment, type Settings } from '../management/process/settings.js'

export function openLocalNats({ nats, data }: Settings, occurrences: Occurrences): Promise<NatsServer> {
  const { streamsOf } = natsAccess()
  const existing = Math.max(nats.partitions, partitionsAmong(storedStreams(data.dir, streamsOf)))
  return openNatsServer({
    executable: localNatsServer(),
    environment: localNatsServerEnvironment(),
    dataDir: data.dir,
    port: nats.localPort,
    storageMaxBytes: nats.storageMaxBytes,
    syncsAlways: nats.sync === 'always',
    moreBytes: probeStreamOptions.bytesMax + (existing > 1 ? 2 * existing * partitionBytesMin : 0),
    access: natsAccess(nats.partitions, existing),
    occurrences,
  })
}

/** Settings for a role's process to reach the local server, as environment variables. */
export const localNatsEnvironment = (server: NatsServer, role: string): Record<string, string> => ({
  NATS_URL_FILE: server.urlFileOf(role),
  WEIR_NATS_INBOX_PREFIX: roleInboxPrefix(role),
})

/** The same for a process that opened the server itself. */
export const withLocalNats = (settings: Settings, server: NatsServer, role: string): Settings => ({
  ...settings,
  nats: {
    ...settings.nats,
    servers: [server.urlOf(role)],
    urlFile: server.urlFileOf(role),
    inboxPrefix: roleInboxPrefix(role),
  },
})

/** Does a role connect to the local server? */
export const isLocalNats = ({ nats, data }: Settings, role: string): boolean =>
  nats.urlFile === loginFile(localNatsDir(data.dir), natsUserOf(role))

type AddressOfIngress = Pick<Runtime, 'natsUrl' | 'natsUrlFile'>

/**
 * Address for ingress nodes: without credentials on a server of others. On the local one it has the ingress password, and a
 * program that reads it from the file takes a new one, too.
 */
export function ingressAddress(settings: Settings): AddressOfIngress {
  const { nats, data } = settings
  if (!isLocalNats(settings, 'api'))
    return { natsUrl: (nats.servers?.[0] ?? '').replace(/\/\/[^@/]*@/, '//') }
  const dir = localNatsDir(data.dir)
  return { natsUrl: readUserUrl(dir, 'ingress') ?? '', natsUrlFile: loginFile(dir, 'ingress') }
}
