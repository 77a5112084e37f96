/** `weir export`, `weir plan` and `weir apply`. */
import type { Command } from 'commander'
import type { Settings } from '../../../management/process/settings.js'
import { timeOption } from '../time-option.js'
import type { ApplyOptions, ExportOptions } from './as-code.js'
import type { PlanOptions } from './plan.js'

export function addAsCodeCommands(program: Command, settings: () => Settings): void {
  const load = () => import('./as-code.js')

  program
    .command('export')
    .description('the configuration of an account as YAML, for weir plan and weir apply')
    .summary('the configuration of an account as YAML')
    .option('--output <file>', 'write it there instead of to standard output')
    .option('--json', 'as JSON, which plan and apply read as well')
    .option('--schema', 'the JSON Schema of such files instead, for editors')
    .action(async (options: ExportOptions) => (await load()).exportAccount(settings(), options))

  program
    .command('plan')
    .description('what weir apply would change; ends with 2 if something differs')
    .summary('what weir apply would change in an account')
    .argument('<files...>', 'YAML or JSON, or directories of such files')
    .option('--prune', 'what no file describes is to go, in the sections that the files have')
    .option('--tests', 'run the policy tests of the files, and those that the account keeps, with the change')
    .option(
      '--try <time>',
      'try the change on recorded traffic, such as that of the last 24h; ends with 3 if a client would lose access and no test expects it',
      timeOption,
    )
    .option('--json', 'the differences, tests and effect as JSON')
    .option('--markdown', 'the report for a comment on a pull request')
    .action(async (files: string[], options: PlanOptions) => {
      const { planFiles } = await import('./plan.js')
      process.exitCode = await planFiles(settings(), files, options)
    })

  program
    .command('apply')
    .description('make the account as the files say')
    .summary('make an account as files say')
    .argument('<files...>', 'YAML or JSON, or directories of such files')
    .option('--prune', 'delete what no file describes, in the sections that the files have')
    .option(
      '--tokens <file>',
      'keep tokens of new keys, credentials and bouncers there, a line of JSON for each',
    )
    .option('--json', 'what was changed as JSON')
    .action(async (files: string[], options: ApplyOptions) =>
      (await load()).applyFiles(settings(), files, options),
    )
}
