/** All chapters of the contract, in the order in which they are checked. */
import type { Chapter } from './clause.js'
import { audits } from './clauses/audits.js'
import { changes } from './clauses/changes.js'
import { concurrency } from './clauses/concurrency.js'
import { deliveries } from './clauses/deliveries.js'
import { deliveryChanges } from './clauses/delivery-changes.js'
import { events } from './clauses/events.js'
import { expressions } from './clauses/expressions.js'
import { keys } from './clauses/keys.js'
import { kinds } from './clauses/kinds.js'
import { lists } from './clauses/lists.js'
import { nats } from './clauses/nats.js'
import { operation } from './clauses/operation.js'
import { policies } from './clauses/policies.js'
import { proxyPort } from './clauses/proxy-port.js'
import { records } from './clauses/records.js'
import { requests } from './clauses/requests.js'
import { resources } from './clauses/resources.js'
import { routes } from './clauses/routes.js'
import { rules } from './clauses/rules.js'
import { trials } from './clauses/trials.js'

export const chapters: readonly Chapter[] = [
  requests,
  resources,
  kinds,
  lists,
  keys,
  changes,
  concurrency,
  policies,
  rules,
  routes,
  expressions,
  records,
  trials,
  events,
  deliveries,
  deliveryChanges,
  audits,
  proxyPort,
  nats,
  operation,
]
