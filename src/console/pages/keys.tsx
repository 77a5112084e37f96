/** What authenticates: API keys and the credentials of tunnel agents. Their expiry, last use and rights. */
import { parameter } from '../data/location.js'
import { Choices, choiceIn } from '../parts/forms/choices.js'
import type { PageProps } from '../parts/page-props.js'
import { ApiKeys } from './keys/api-keys.js'
import { TunnelCredentials } from './keys/tunnel-credentials.js'

const tabs = [
  ['api', 'API keys'],
  ['tunnel', 'Tunnel credentials'],
] as const

export function Keys({ rest: [id] }: PageProps) {
  const tab = id?.startsWith('cr_') && parameter('tab') === '' ? 'tunnel' : choiceIn('tab', tabs)
  return (
    <div class="stack">
      <div class="row apart">
        <h1>Keys</h1>
        <Choices label="Kind" name="tab" choices={tabs} />
      </div>
      {tab === 'tunnel' ? <TunnelCredentials opened={id} /> : <ApiKeys opened={id} />}
    </div>
  )
}
