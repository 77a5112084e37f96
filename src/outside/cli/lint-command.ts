/** `weir lint`: what of the account's configuration can hardly be meant. */
import type { Command } from 'commander'
import type { Settings } from '../../management/process/settings.js'
import type { LintOptions } from './lint-report.js'

export function addLintCommand(program: Command, settings: () => Settings): void {
  program
    .command('lint')
    .description('find rules without effect, expressions that are constant, and what nobody uses')
    .summary('find what has no effect, and what nobody uses')
    .option(
      '--time <which>',
      'by which time traffic is looked at: stored, or own, with loaded records of the past',
    )
    .option('--strict', 'end with 1 whatever is found')
    .option('--json', 'the answer of the API')
    .action(async (options: LintOptions) => {
      const { lint } = await import('./lint-report.js')
      process.exitCode = await lint(settings(), options)
    })
}
