/** Domain names and TCP addresses of the account: their certificates, and what DNS must say. */
import { parameter } from '../data/location.js'
import { Choices, choiceIn } from '../parts/forms/choices.js'
import type { PageProps } from '../parts/page-props.js'
import { ReservedAddresses } from './domains/reserved-addresses.js'
import { ReservedDomains } from './domains/reserved-domains.js'

const tabs = [
  ['domains', 'Domains'],
  ['addresses', 'Addresses'],
] as const

export function Domains({ rest: [id] }: PageProps) {
  const tab = id?.startsWith('ra_') && parameter('tab') === '' ? 'addresses' : choiceIn('tab', tabs)
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Domains and addresses</h1>
        <Choices label="Kind" name="tab" choices={tabs} />
      </div>
      {tab === 'addresses' ? <ReservedAddresses opened={id} /> : <ReservedDomains opened={id} />}
    </div>
  )
}
