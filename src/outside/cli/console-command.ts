/** `weir console`: a link that signs in to the web console. */
import type { Command } from 'commander'
import { NoAnswer, readRuntime, sendAdminCommand } from '../../management/process/running-service.js'
import type { Settings } from '../../management/process/settings.js'

export function addConsoleCommand(program: Command, settings: () => Settings): void {
  program
    .command('console')
    .description(
      'a link that signs in to the web console once, within five minutes, in a browser on this machine',
    )
    .summary('a link that signs in to the web console once')
    .option('--account <id>', 'the account, ac_… (default: the oldest)')
    .option('--json', 'link, account, key and expiry as JSON')
    .action(async ({ json, account }: { json?: true; account?: string }) => {
      const running = readRuntime(settings().data.dir)
      if (running === undefined)
        throw new NoAnswer('No Weir runs on this data directory: start it. It prints such a link, too.')
      const command = {
        command: 'console',
        ...(account === undefined ? {} : { account }),
        ...(json ? { json: 'yes' } : {}),
      }
      process.stdout.write(await sendAdminCommand(running.adminUrl, running.adminToken, command))
    })
}
