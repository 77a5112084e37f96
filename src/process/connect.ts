/** A role's connection to NATS, with the servers and the inbox prefix of the settings. */
import { type Nats, openNats } from '../nats/nats.js'
import { isLocalNats } from './local-nats.js'
import type { RoleContext } from './role-context.js'

export const connect = ({ settings, occurrences }: RoleContext, role: string): Promise<Nats> => {
  const { servers, replicas, inboxPrefix } = settings.nats
  if (servers === undefined) throw new Error(`The role ${role} needs NATS_URL.`)
  // The process that started the local server reports its version.
  const isVersionReported = isLocalNats(settings, role)
  return openNats({ servers, replicas, inboxPrefix, name: `weir ${role}`, isVersionReported, occurrences })
}
