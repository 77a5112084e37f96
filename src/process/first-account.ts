/** The first start of a deployment. */
import type { RoleContext } from './role-context.js'
import type { StoreParts } from './store-parts.js'

/** An empty store gets its first account. Its token is printed this once. */
export async function makeFirstAccount({ settings }: RoleContext, parts: StoreParts): Promise<void> {
  const { bootstrapAccount } = await import('../api/accounts.js')
  if (parts.loss !== undefined) process.stdout.write(`${parts.loss}\n`)
  const { bootstrapToken } = settings.api
  const made = await bootstrapAccount(parts.store, parts.writes, bootstrapToken)
  if (made === undefined) return
  const token = bootstrapToken === undefined ? made.token : '(the one of WEIR_BOOTSTRAP_TOKEN)'
  process.stdout.write(`account: ${made.accountId}\nAPI key: ${token}\n`)
}
