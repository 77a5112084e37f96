/**
 * Permissions on NATS. The local nats-server is configured from this table, and `docker-compose.yml` has the same
 * permissions.
 *
 * Weir's roles share the account WEIR, which holds the streams. Each role is allowed exactly the JetStream calls it
 * makes: only the API creates streams and buckets, and a role creates consumers only on streams it reads. The children
 * of a pipeline connect as the pipeline; a trial, which the API starts, has a user of its own.
 *
 * Every other user has a separate account, which imports only the subjects the user publishes on. The permissions of a user
 * do not restrict the reply subject of a message, and the server itself replies to it: within one account, a record
 * published with the reply subject `$KV.weir_config.x` or `$JS.API.STREAM.PURGE.…` would write configuration or purge it. An
 * import replaces the reply subject by a generated one. Therefore such a user may safely subscribe to every inbox of its
 * account, which clients with default settings need.
 *
 * The user `events` reads what destinations of the kind `nats` get here, and may do everything in an account of its own.
 */
import {
  abuseDecisionSubject,
  agentSubject,
  auditInSubjects,
  connectionSubject,
  eventSubjects,
} from '../wire/names.js'
import { partitionsUpTo, recordsSubjects, subjectMappings } from '../wire/partitions.js'
import type { NatsAccess, NatsAccounts, NatsUser } from './nats-access.js'
import { rolesFor } from './role-users.js'

const account = 'WEIR'
const readers = 'EVENTS'

/** For people who make backups or inspect streams. No process of Weir uses it. */
const admin: NatsUser = { name: 'admin' }

/** For programs that read events: Weir's account imports from theirs the subjects it publishes on, and nothing else. */
const reader: NatsUser = { name: 'events' }

/** All other users, with the subjects they publish on. */
const outside: Readonly<Record<string, readonly string[]>> = {
  ingress: [recordsSubjects, connectionSubject],
  // Tunnel servers.
  tunnels: [agentSubject],
  // Tools that decide abuse reports.
  operator: [abuseDecisionSubject],
  // Other services, which pass on their audit events.
  services: [auditInSubjects],
}

function accounts(count: number, existing: number): NatsAccounts {
  const roles = rolesFor(partitionsUpTo(existing))
  const mappings = subjectMappings(count)
  const users = Object.entries(outside)
  const exports = users.flatMap(([name, subjects]) =>
    subjects.map((service) => ({ service, accounts: [accountOf(name)] })),
  )
  const others = users.map(([name, subjects]) => [
    accountOf(name),
    {
      users: [
        { name, permissions: { publish: { allow: subjects }, subscribe: { allow: ['_INBOX.>'] } } },
      ] satisfies NatsUser[],
      imports: subjects.map((subject) => ({ service: { account, subject } })),
    },
  ])
  const imports = [{ service: { account: readers, subject: eventSubjects } }]
  const taken = [{ service: eventSubjects, accounts: [account] }]
  return {
    [account]: {
      jetstream: 'enabled',
      users: [...roles, admin],
      exports,
      imports,
      ...(Object.keys(mappings).length > 0 && { mappings }),
    },
    ...Object.fromEntries(others),
    [readers]: { jetstream: 'enabled', users: [reader], exports: taken },
  }
}

const accountOf = (user: string): string => user.toUpperCase()

/**
 * The accounts for so many partitions. `existing`: how many have streams, which may be more.
 */
export const natsAccess = (partitions = 1, existing = partitions): NatsAccess => ({
  accounts: accounts(partitions, Math.max(partitions, existing)),
  streamsOf: account,
})
