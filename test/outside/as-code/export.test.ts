/** An account as a file: what differs by signs alone keeps names of its own. */
import t from 'tap'
import type { Live } from '../../../src/outside/as-code/account-state.js'
import { exported } from '../../../src/outside/as-code/export.js'
import { givenFields, givenOf } from '../../../src/outside/as-code/given.js'
import { managedKinds } from '../../../src/outside/as-code/managed-kinds.js'

const kind = managedKinds.find(({ name }) => name === 'eventDestination')!

function destination(id: string, description: string): Live {
  const shown = {
    id,
    description,
    target: { http: { url: 'https://example.com/', auth: { bearer: { token: null } } } },
  }
  const body = givenOf(givenFields(kind.resource), shown)
  return { kind, id, shown, body, rules: [], routes: [], entries: undefined }
}

t.test('each secret has a variable of its own', async (t) => {
  const text = exported(new Map([[kind, [destination('ed_1', 'a.b'), destination('ed_2', 'a:b')]]]))
  const variables = [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name]) => name)
  const name = 'EVENT_DESTINATIONS_A_B_TARGET_HTTP_AUTH_BEARER_TOKEN'
  t.same(variables, [name, `${name}_2`])
})
