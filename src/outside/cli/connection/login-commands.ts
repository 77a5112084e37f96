/** `weir login` and `weir logout`. */
import type { Command } from 'commander'
import type { Settings } from '../../../management/process/settings.js'

export function addLoginCommands(program: Command, settings: () => Settings): void {
  program
    .command('login')
    .description(
      'keep the address of the API and a key for it, which is asked for, or read from standard input; with --profile under a name',
    )
    .summary('keep an address and a key for it')
    .argument('<address>', 'of the API, such as https://weir.example.com')
    .action(async (address: string) => {
      const { login } = await import('./login.js')
      await login(address, settings().client.profile)
    })
  program
    .command('logout')
    .description('forget what weir login keeps; the key stays valid')
    .action(async () => {
      const { logout } = await import('./login.js')
      logout(settings().client.profile)
    })
}
