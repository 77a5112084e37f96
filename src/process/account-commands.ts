/** `weir account` and `weir key`: what an operator does for accounts and their API keys. */
import type { Command } from 'commander'
import type { AdminCommand } from './admin-server.js'

type Administer = (command: AdminCommand) => Promise<void>

export function addAccountCommands(program: Command, administer: Administer): void {
  addAccount(program, administer)
  addKey(program, administer)
}

function addAccount(program: Command, administer: Administer): void {
  const account = program.command('account').description('accounts and their rights')
  account
    .command('create')
    .description('create an account and its first key')
    .requiredOption('--name <name>', 'its name in events')
    .action(({ name }: { name: string }) => administer({ command: 'account create', name }))
  account
    .command('list')
    .description('all accounts: id, creation, number of keys, rights and name')
    .action(() => administer({ command: 'account list' }))

  const rightChanges = [
    ['grant', 'give an account a right'],
    ['revoke', 'take a right from an account'],
  ] as const
  for (const [verb, description] of rightChanges) {
    account
      .command(verb)
      .description(description)
      .requiredOption('--account <id>', 'the account, ac_…')
      .argument('<right>', 'abuse_reports')
      .action((right: string, options: { account: string }) =>
        administer({ command: `account ${verb}`, account: options.account, right }),
      )
  }
}

function addKey(program: Command, administer: Administer): void {
  const key = program.command('key').description('API keys of an account')
  key
    .command('create')
    .description('create a key, for an account whose last key is lost; prints its token once')
    .requiredOption('--account <id>', 'the account, ac_…')
    .option(
      '--rights <list>',
      'what it may be used for: read, write, decide, separated by commas (default: all)',
    )
    .option('--expires-in <time>', 'such as 12h or 90d (default: never)')
    .option('--description <text>', 'what the key is for', 'Made from the command line.')
    .action((options: { account: string; rights?: string; expiresIn?: string; description: string }) =>
      administer({ command: 'key create', ...options }),
    )
  key
    .command('list')
    .description('keys: id, account, creation, rights, expiry, last use and description')
    .option('--account <id>', 'only those of this account, ac_…')
    .action((options: { account?: string }) => administer({ command: 'key list', ...options }))
}
