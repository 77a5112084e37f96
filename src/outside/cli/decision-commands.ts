/** `weir decisions`: decisions of the log; `weir rules`: how often each rule decided. */
import type { Command } from 'commander'
import type { Settings } from '../../management/process/settings.js'
import type { DecisionsCommand, RulesCommand } from './decisions.js'
import { type FilterOptions, filtered, withFilter } from './filter-option.js'
import { timeOption } from './time-option.js'

export function addDecisionCommands(program: Command, settings: () => Settings): void {
  const command = program
    .command('decisions')
    .description('what was decided, from the log, newest first')
    .option('--client <address>', 'only about this address, or range in CIDR notation')
    .option('--edge <id>', 'only at this edge')
    .option('--rule <id>', 'only what this deny rule blocked, ipr_…')
    .option('--decision <words>', 'allow, block or deny; several with commas')
    .option(
      '--source <word>',
      'record: about records. asked: asked for by ingress nodes and proxies. history: loaded records of the past',
    )
    .option(
      '--time <which>',
      'stored, or own: the times that records say go for --since, --until and the order',
    )
  withFilter(command, 'only these, such as "conn.geo.country_code == \'DE\'"')
    .option('--since <time>', 'a length of time such as 90s, 1h or 7d, or a time', timeOption, '24h')
    .option('--until <time>', 'the same; default: now', timeOption)
    .option('--limit <number>', 'how many at most', '50')
    .option('--why', 'explain the newest one: every rule and policy that was looked at')
    .option('--format <format>', 'ndjson or csv, for programs and spreadsheets')
    .option('--json', 'the same as --format ndjson; with --why, one object')
    .action(async (options: DecisionsCommand & FilterOptions) => {
      const { showDecisions } = await import('./decisions.js')
      const { clientOf } = await import('./connection/api-client.js')
      await showDecisions(clientOf(settings()), filtered(options), print)
    })
  const rules = withFilter(
    program
      .command('rules')
      .description('the rules of an IP policy, newest first, and how often each deny rule blocked')
      .summary('the rules of an IP policy, and how often each blocked'),
    'only these, such as "action == \'deny\'"',
  )
    .argument('<policy>', 'ipp_…')
    .option(
      '--since <time>',
      'count since then: a length of time such as 90s, 1h or 7d, or a time',
      timeOption,
      '24h',
    )
    .option('--json', 'a line of JSON for each')
    .action(async (policy: string, options: RulesCommand & FilterOptions) => {
      const { showRules } = await import('./decisions.js')
      const { clientOf } = await import('./connection/api-client.js')
      await showRules(clientOf(settings()), policy, filtered(options), print)
    })
  rules
    .command('check')
    .description('who would allow or refuse an address, by which rules, who added them and until when')
    .argument('<address>', 'of a client')
    .option('--json', 'the answer of the API')
    .action(async (address: string, options: { json?: true }) => {
      const { showCheck } = await import('./rules-check.js')
      const { clientOf } = await import('./connection/api-client.js')
      await showCheck(clientOf(settings()), address, options, print)
    })
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)
