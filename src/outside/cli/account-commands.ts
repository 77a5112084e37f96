/** `weir account`, `weir key` and `weir abuse`: what an operator does for accounts, their API keys and their reports. */
import type { Command } from 'commander'
import type { AdminCommand } from '../../management/process/running-service.js'

type Administer = (command: AdminCommand) => Promise<void>

interface JsonOption {
  readonly json?: true
}

const asOption = ({ json }: { readonly json?: true | undefined }) => (json ? { json: 'yes' } : {})

export function addAccountCommands(program: Command, administer: Administer): void {
  addAccount(program, administer)
  addKey(program, administer)
  addAbuse(program, administer)
}

function addAccount(program: Command, administer: Administer): void {
  const account = program.command('account').description('accounts and their rights')
  account
    .command('create')
    .description('create an account and its first key')
    .requiredOption('--name <name>', 'its name in events')
    .option('--json', 'account, key and token as JSON')
    .action(({ name, ...options }: { name: string } & JsonOption) =>
      administer({ command: 'account create', name, ...asOption(options) }),
    )
  account
    .command('list')
    .description('all accounts: id, creation, number of keys, rights and name')
    .option('--json', 'a line of JSON for each')
    .action((options: JsonOption) => administer({ command: 'account list', ...asOption(options) }))

  const rightChanges = [
    ['grant', 'give an account a right'],
    ['revoke', 'take a right from an account'],
  ] as const
  for (const [verb, description] of rightChanges) {
    account
      .command(verb)
      .description(description)
      .requiredOption('--account <id>', 'the account, ac_…')
      .option('--json', 'account and rights as JSON')
      .argument('<right>', 'abuse_reports, unserved_allowed, catch_all_allowed or doctor')
      .action((right: string, options: { account: string } & JsonOption) =>
        administer({ command: `account ${verb}`, account: options.account, right, ...asOption(options) }),
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
      'what it may be used for: read, write, decide, publish, separated by commas (default: all)',
    )
    .option('--expires-in <time>', 'such as 12h or 90d (default: never)')
    .option('--description <text>', 'what the key is for', 'Made from the command line.')
    .option('--json', 'account, key and token as JSON')
    .action(
      ({
        json,
        ...options
      }: { account: string; rights?: string; expiresIn?: string; description: string } & JsonOption) =>
        administer({ command: 'key create', ...options, ...asOption({ json }) }),
    )
  key
    .command('list')
    .description('keys: id, account, creation, rights, expiry, last use and description')
    .option('--account <id>', 'only those of this account, ac_…')
    .option('--json', 'a line of JSON for each')
    .action(({ json, ...options }: { account?: string } & JsonOption) =>
      administer({ command: 'key list', ...options, ...asOption({ json }) }),
    )
}

function addAbuse(program: Command, administer: Administer): void {
  const abuse = program.command('abuse').description('abuse reports, for the team that reviews them')
  abuse
    .command('list')
    .description('reports with undecided hostnames, oldest first')
    .option('--all', 'include processed reports')
    .option('--json', 'a line of JSON for each')
    .action(({ all, ...options }: { all?: true } & JsonOption) =>
      administer({ command: 'abuse list', ...(all ? { all: 'yes' } : {}), ...asOption(options) }),
    )
  abuse
    .command('decide')
    .description('record a decision about a hostname; the last one counts')
    .argument('<report>', 'abrp_…')
    .argument('<hostname>', 'a hostname of the report')
    .argument('<status>', 'BANNED, UNBANNED or IGNORE')
    .option('--json', 'the report as JSON')
    .action((report: string, hostname: string, status: string, options: JsonOption) =>
      administer({ command: 'abuse decide', report, hostname, status, ...asOption(options) }),
    )
}
