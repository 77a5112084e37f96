/** Credentials: API keys and those of tunnel agents. Their expiry, last use and rights. */
import { parameter } from '../data/location.js'
import { choiceIn } from '../kit/choices.js'
import { headOf } from '../kit/page-head.js'
import type { PageProps } from '../parts/page.js'
import { PlainList } from '../parts/plain/plain-list.js'
import { apiKeys } from './keys/api-keys.js'
import { tunnelCredentials } from './keys/tunnel-credentials.js'

const tabs = [
  ['api', 'API keys'],
  ['tunnel', 'Tunnel credentials'],
] as const

export function Keys({ rest: [id] }: PageProps) {
  const tab = id?.startsWith('cr_') && parameter('tab') === '' ? 'tunnel' : choiceIn('tab', tabs)
  const head = headOf('Keys', tabs)
  return tab === 'tunnel' ? (
    <PlainList key={tab} resource={tunnelCredentials} head={head} opened={id} />
  ) : (
    <PlainList key={tab} resource={apiKeys} head={head} opened={id} />
  )
}
