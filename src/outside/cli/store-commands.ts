/** `weir changes` and `weir sql` read the store; `weir store` repairs what contradicts it. */
import type { Command } from 'commander'
import type { AdminCommand } from '../../management/process/running-service.js'
import { timeOption } from './time-option.js'

type Administer = (command: AdminCommand) => Promise<void>

export function addStoreReaders(program: Command, administer: Administer): void {
  program
    .command('changes')
    .description('who changed what, newest first: time, account, version, resource, author, request, fields')
    .summary('who changed what, newest first')
    .option('--since <time>', 'a length of time such as 90s, 1h or 7d, or a time', timeOption, '24h')
    .option('--account <id>', 'only this account, ac_…')
    .option('--kind <kind>', 'only this kind of resource, such as tcp_edge')
    .option('--json', 'a JSON object per line, with the values before and after')
    .action(({ json, ...options }: { since: string; account?: string; kind?: string; json?: true }) =>
      administer({ command: 'changes', ...options, ...(json ? { json: 'yes' } : {}) }),
    )

  program
    .command('sql')
    .description('query the store: a view per kind, and <kinds>_history with all versions')
    .summary('query the store')
    .argument('<query>', 'select …')
    .option('--format <format>', 'pretty, tsv, csv or json', 'pretty')
    .option('--json', 'the same as --format json: an object per line')
    .action((query: string, { format, json }: { format: string; json?: true }) =>
      administer({ command: 'sql', query, format: json ? 'json' : format }),
    )
}

export function addStoreCommand(program: Command, administer: Administer): void {
  program
    .command('store')
    .description('resolve a contradiction between ClickHouse and NATS')
    .command('adopt')
    .description('rebuild the configuration in NATS from ClickHouse')
    .option('--json', 'the answer as JSON')
    .action(({ json }: { json?: true }) =>
      administer({ command: 'store adopt', ...(json ? { json: 'yes' } : {}) }),
    )
}
