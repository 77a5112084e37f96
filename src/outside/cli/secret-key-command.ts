/** `weir secret-key`: replaces the key that seals secrets, while the service runs. */
import type { Command } from 'commander'
import { NoAnswer, readRuntime, sendAdminCommand } from '../../management/process/running-service.js'
import type { Settings } from '../../management/process/settings.js'

interface Verb {
  readonly name: string
  readonly description: string
}

const verbs: readonly Verb[] = [
  {
    name: 'rotate',
    description: 'make a new key and seal all secrets again, in the background; or finish what was begun',
  },
  { name: 'status', description: 'what is still sealed with an earlier key' },
  { name: 'drop', description: 'forget the earlier key, once nothing is sealed with it' },
]

export function addSecretKeyCommand(program: Command, settings: () => Settings): void {
  const group = program.command('secret-key').description('replace the key that seals secrets')
  for (const { name, description } of verbs)
    group
      .command(name)
      .description(description)
      .option('--json', 'state, number of keys and counts as JSON')
      .action(async ({ json }: { json?: true }) => {
        const running = readRuntime(settings().data.dir)
        if (running === undefined)
          throw new NoAnswer(
            'No Weir runs on this data directory: start it first, because it has the secrets.',
          )
        const command = { command: `secret-key ${name}`, ...(json ? { json: 'yes' } : {}) }
        process.stdout.write(await sendAdminCommand(running.adminUrl, running.adminToken, command))
      })
}
