/** `weir api`: the API, and what it leaves in the data directory for the command line to find it. */

import { bootstrapAccount } from './api/accounts.js'
import { openApi } from './app.js'
import { runAdminCommand } from './process/admin.js'
import { openAdminServer } from './process/admin-server.js'
import { announceApi } from './process/announce.js'
import type { Frame, Role } from './process/child.js'
import { ingressUrl } from './process/local-nats.js'
import { createRoleContext } from './process/role-context.js'
import { removeRuntime, writeRuntime } from './process/runtime-file.js'
import type { Settings } from './process/settings.js'

export async function openApiRole(loaded: Settings, { parent, release }: Frame): Promise<Role> {
  const context = createRoleContext(loaded, 'api')
  const api = await openApi(context, { parent, release })
  const { parts } = api
  const admin = release.own(await openAdminServer((command) => runAdminCommand(parts, command)))
  release.add(() => removeRuntime(loaded.data.dir))
  writeRuntime(loaded.data.dir, {
    apiUrl: api.addresses['api']!,
    natsUrl: ingressUrl(loaded),
    adminUrl: admin.url,
    adminToken: admin.token,
  })
  if (parts.loss !== undefined) process.stdout.write(`${parts.loss}\n`)
  const made = await bootstrapAccount(parts.store, parts.writes, loaded.api.bootstrapToken)
  if (made !== undefined) {
    const token = loaded.api.bootstrapToken === undefined ? made.token : '(the one of WEIR_BOOTSTRAP_TOKEN)'
    process.stdout.write(`account: ${made.accountId}\nAPI key: ${token}\n`)
  }
  await api.started()
  // Below a supervisor, that one announces them.
  if (parent === undefined) announceApi(api.addresses['api']!)
  return api
}
