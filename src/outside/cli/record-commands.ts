/** `weir record`: traces a record; `weir why`: explains a decision. */
import type { Command } from 'commander'
import type { Settings } from '../../management/process/settings.js'
import type { WhyOptions } from './why-report.js'

export function addRecordCommands(program: Command, settings: () => Settings): void {
  program
    .command('record')
    .description('trace a record: its decision, its events, each delivery')
    .argument('<id>', 'the id of the record, or of an event that it made (ev_…)')
    .option('--json', 'the answer of the API')
    .action(async (id: string, options: { json?: true }) => {
      const { showRecord } = await import('./record-report.js')
      await showRecord(settings(), id, options)
    })

  program
    .command('why')
    .description(
      "explain a record's decision, or what is decided about a connection: which rule won, and why the others lost",
    )
    .summary('explain a decision: which rule won, and why the others lost')
    .argument('[record]', 'the id of a record, or of an event that it made (ev_…)')
    .option('--client <address>', 'without a record: the address of the client')
    .option('--server <host:port>', 'and the endpoint that it connects to')
    .option('--edge <id>', 'or the edge')
    .option('--path <path>', 'of a request, such as /admin')
    .option('--revision <number>', 'as the configuration was then')
    .option('--json', 'the answer of the API')
    .action(async (record: string | undefined, options: WhyOptions) => {
      const { showWhy } = await import('./why-report.js')
      await showWhy(settings(), record, options)
    })
}
