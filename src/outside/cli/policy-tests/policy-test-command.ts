/** `weir test`: policy tests of a file, without a server, or of the account. */
import type { Command } from 'commander'
import type { Settings } from '../../../management/process/settings.js'
import type { PolicyTestOptions } from './policy-tests.js'

export function addPolicyTestCommand(program: Command, settings: () => Settings): void {
  program
    .command('test')
    .description('run policy tests: of a file, without a server; without a file those of the account')
    .summary('run policy tests of a file, or of the account')
    .argument('[file]', 'policies and their tests, as YAML or JSON; - is standard input')
    .option('--junit <file>', 'write the results as JUnit XML, too')
    .option('--json', 'the results as JSON')
    .action(async (file: string | undefined, options: PolicyTestOptions) => {
      const { runPolicyTests } = await import('./policy-tests.js')
      process.exitCode = await runPolicyTests(settings(), file, options)
    })
}
