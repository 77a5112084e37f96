/** Domain names and TCP addresses of the account: their certificates, and what DNS must say. */
import { parameter } from '../data/location.js'
import { choiceIn } from '../kit/choices.js'
import { headOf } from '../kit/page-head.js'
import type { PageProps } from '../parts/page.js'
import { PlainList } from '../parts/plain/plain-list.js'
import { reservedAddresses } from './domains/reserved-addresses.js'
import { reservedDomains } from './domains/reserved-domains.js'

const tabs = [
  ['domains', 'Domains'],
  ['addresses', 'Addresses'],
] as const

export function Domains({ rest: [id] }: PageProps) {
  const tab = id?.startsWith('ra_') && parameter('tab') === '' ? 'addresses' : choiceIn('tab', tabs)
  const head = headOf('Domains and addresses', tabs)
  return tab === 'addresses' ? (
    <PlainList key={tab} resource={reservedAddresses} head={head} opened={id} />
  ) : (
    <PlainList key={tab} resource={reservedDomains} head={head} opened={id} />
  )
}
