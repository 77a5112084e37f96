/** The lines that a start prints for the person who starts Weir: addresses, and the first key. */
import { messageOf } from '../ground/core/errors.js'
import type { RoleContext } from '../management/process/role-context.js'
import { readRuntime, sendAdminCommand } from '../management/process/running-service.js'
import type { StoreParts } from './store-parts.js'

/** Prints where proxies ask for decisions. */
export function announceDecisions(url: string): void {
  process.stdout.write(`decisions: ${url}/decide\n`)
}

/** Prints the addresses of the API, which keeps its data in `dir`. */
export async function announceApi(url: string, opsUrl: string, dir: string): Promise<void> {
  process.stdout.write(`API: ${url}\ndocs: ${url}/docs\nmetrics: ${opsUrl}/metrics\n`)
  process.stdout.write(await signInLink(dir).catch((error) => `console: ${url}/ (${messageOf(error)})\n`))
}

/** The line with a link that signs in to the web console once. The API's process makes it, as for `weir console`. */
async function signInLink(dir: string): Promise<string> {
  const running = readRuntime(dir)
  if (running === undefined) throw new Error('sign in with an API key')
  return sendAdminCommand(running.adminUrl, running.adminToken, { command: 'console' })
}

const rule = '─'.repeat(80)

/** The frame stands out among log lines; programs that start Weir read the two lines with a colon. */
const firstKeyText = (accountId: string, token: string): string => `
${rule}
The first account, and its API key. Keep it: it is shown now, and never again.

account: ${accountId}
API key: ${token}

Next: give it to \`weir login <address of the API>\`, for the commands of \`weir --help\`, or
send it to the API as "Authorization: Bearer <key>". docs/api.md has examples.
If it gets lost: weir key create --account ${accountId}
${rule}

`

/** An empty store gets its first account. Its token is printed this once. */
export async function makeFirstAccount({ settings }: RoleContext, parts: StoreParts): Promise<void> {
  const { bootstrapAccount } = await import('../management/write/accounts.js')
  if (parts.loss !== undefined) process.stdout.write(`${parts.loss}\n`)
  const { bootstrapToken } = settings.api
  const made = await bootstrapAccount(parts.store, parts.writes, bootstrapToken)
  if (made === undefined) return
  process.stdout.write(
    bootstrapToken === undefined
      ? firstKeyText(made.accountId, made.token)
      : `account: ${made.accountId}\nAPI key: (the one of WEIR_BOOTSTRAP_TOKEN)\n`,
  )
}
