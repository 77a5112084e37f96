/** `weir status`: whether all is well; `weir tap`: what happens, a line each; `weir top`: its rates, in one picture. */
import type { Command } from 'commander'
import type { Settings } from '../../management/process/settings.js'
import { type FilterOptions, filtered, withFilter } from './filter-option.js'
import type { TapOptions } from './tap.js'

export function addWatchCommands(program: Command, settings: () => Settings): void {
  program
    .command('status')
    .description('whether all is well, what needs a hand, and what was decided in the last 24 hours')
    .summary('whether all is well, and what needs a hand')
    .option('--json', 'the overview of the API, with the sums of decisions and the last change')
    .action(async (options: { json?: true }) => {
      const { showStatus } = await import('./status-report.js')
      const { clientOf } = await import('./connection/api-client.js')
      const print = (text: string): void => void process.stdout.write(`${text}\n`)
      if (!(await showStatus(clientOf(settings()), options, print))) process.exitCode = 1
    })

  withFilter(
    program.command('tap').description('decisions of an account as they happen'),
    'only these, such as "decision != \'allow\'"',
  )
    .option('--edge <id>', 'only those at this edge')
    .option('--destination <id>', 'events as they are sent to this destination, with the outcome, instead')
    .option('--dead', 'records and events that are set aside, with the reason, instead')
    .option('--json', 'a line of JSON for each')
    .action(async (options: TapOptions & FilterOptions) => {
      const { tap } = await import('./tap.js')
      await tap(settings(), filtered(options))
    })

  withFilter(
    program.command('top').description('rates of decisions and the state of destinations'),
    'count only these',
  )
    .option('--edge <id>', 'count only those at this edge')
    .option('--time <which>', 'own: what began more than a minute before is counted apart; default: stored')
    .option('--json', 'each picture as a line of JSON')
    .action(async (options: FilterOptions & { edge?: string; json?: true; time?: string }) => {
      const { top } = await import('./top.js')
      await top(settings(), filtered(options))
    })
}
