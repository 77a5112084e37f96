/** A role's connection to NATS, with the servers and the inbox prefix of the settings. */
import { LedgerWriter } from '../books/ledger.js'
import { messageOf } from '../core/errors.js'
import { type Nats, openNats } from '../nats/nats.js'
import type { RoleContext } from '../process/role-context.js'
import { isLocalNats } from './local-nats.js'

export const connect = ({ settings, occurrences }: RoleContext, role: string): Promise<Nats> => {
  const { servers, replicas, inboxPrefix } = settings.nats
  if (servers === undefined) throw new Error(`The role ${role} needs NATS_URL.`)
  // The process that started the local server reports its version.
  const isVersionReported = isLocalNats(settings, role)
  return openNats({ servers, replicas, inboxPrefix, name: `weir ${role}`, isVersionReported, occurrences })
}

export const openLedger = ({ occurrences }: RoleContext, nats: Nats): LedgerWriter =>
  new LedgerWriter(nats, (error) => occurrences.ledgerUnwritten({ reason: messageOf(error) }))
