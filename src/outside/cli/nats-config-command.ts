/** `weir nats-config`: accounts, permissions and subject mappings for nats-servers that Weir does not run itself. */
import type { Command } from 'commander'
import type { Settings } from '../../management/process/settings.js'

export function addNatsConfigCommand(program: Command, settings: () => Settings): void {
  program
    .command('nats-config')
    .description(
      "accounts, permissions and subject mappings for the configuration of your own nats-server; users' passwords are environment variables",
    )
    .summary('users, rights and mappings for a nats-server of your own')
    .option('--draining <count>', 'how many partitions have streams, if that is more than WEIR_PARTITIONS')
    .option(
      '--credentials',
      'with the names and passwords that weir credentials has made, in place of variables',
    )
    .action(async ({ draining, credentials }: { draining?: string; credentials?: true }) => {
      const { natsConfig } = await import('../../delivery/nats-server/nats-config.js')
      const { ownServersDir } = await import('../../management/process/credentials.js')
      const { nats, data } = settings()
      const existing = draining === undefined ? nats.partitions : Number(draining)
      process.stdout.write(natsConfig(nats.partitions, existing, credentials && ownServersDir(data.dir)))
    })
}
