/** `weir replay`: its options. */
import type { Command } from 'commander'
import type { Settings } from '../../management/process/settings.js'
import { type FilterOptions, filtered, withFilter } from './filter-option.js'
import type { ReplayOptions } from './replay-run.js'
import { timeOption } from './time-option.js'

export function addReplayCommand(program: Command, settings: () => Settings): void {
  withFilter(
    program.command('replay').description('send the events of recorded traffic again'),
    'only events for which it is true, such as "decision != \'allow\'"',
  )
    .argument('<destination>', 'ed_…')
    .requiredOption('--from <time>', 'a length of time such as 90s, 2h or 1d, or a time', timeOption)
    .option('--to <time>', 'the same; default: now', timeOption)
    .option(
      '--type <type>',
      'only events of this type, such as tcp_connection_closed.v0; may be repeated',
      (type: string, others: readonly string[] = []) => [...others, type],
    )
    .option('--json', 'the replay as JSON, when it has ended')
    .action(async (destination: string, options: ReplayOptions & FilterOptions) => {
      const { replayTo } = await import('./replay-run.js')
      process.exitCode = await replayTo(settings(), destination, filtered(options))
    })
}
