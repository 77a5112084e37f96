/** What a start prints for the person who starts Weir: addresses, and the first key. */
import type { RoleContext } from './role-context.js'
import type { StoreParts } from './store-parts.js'

/** Prints where proxies ask for decisions. */
export function announceDecisions(url: string): void {
  process.stdout.write(`decisions: ${url}/decide\n`)
}

/** Prints the addresses of the API. */
export function announceApi(url: string): void {
  process.stdout.write(`API: ${url}\ndocs: ${url}/docs\nmetrics: ${url}/metrics\n`)
}

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
