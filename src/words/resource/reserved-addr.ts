import { oneOf } from '../../ground/core/schema.js'
import { assigned, defaulted, described } from './fields/fields.js'
import { hostportSchema } from './fields/hostport.js'
import { reference } from './fields/reference-fields.js'
import { checkUnserved, regions } from './fields/tcp-address.js'
import { defineResource } from './kind/define.js'

export const reservedAddr = defineResource({
  kind: 'reserved_addr',
  idPrefix: 'ra_',
  path: '/reserved_addrs',
  listName: 'reserved_addrs',
  title: 'reserved address',
  about: 'A TCP address that belongs to the account until it is deleted.',
  example: {
    description: 'the game server',
    region: 'eu',
    addr: '1.tcp.eu.weir.localhost:21345',
  },
  audit: 'tcp_address',
  fields: {
    ...described,
    addr: assigned(hostportSchema),
    region: defaulted(oneOf(regions, 'Geographic datacenter.'), 'us', { atCreation: true }),
    endpoint_configuration_id: reference('endpoint_configuration', 'ec_', {
      shownAs: 'endpoint_configuration',
      foreignPath: '/endpoint_configurations',
      unset: 'null',
    }),
  },
  claims: ({ addr }) => [`tcp_address.${addr}`],
  claimsAreDrawn: true,
  takenMessage: () => 'No free address was drawn: try again, or reserve one in another region.',
  derive(draft, previous, tools) {
    return previous === undefined ? { ...draft, addr: tools.drawTcpAddress(draft.region) } : draft
  },
  checkDeletion: ({ addr }, lookups) => checkUnserved(addr, lookups),
})
