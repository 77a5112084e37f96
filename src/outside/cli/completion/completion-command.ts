/** `weir completion`: a script that lets a shell complete commands, options and values. */
import type { Command } from 'commander'
import type { Lists, Place } from './places.js'

type Script = (lists: Lists, places: readonly Place[]) => string

const scripts: Readonly<Record<string, () => Promise<Script>>> = {
  bash: async () => (await import('./bash.js')).bashScript,
  zsh: async () => (await import('./zsh.js')).zshScript,
  fish: async () => (await import('./fish.js')).fishScript,
}

export function addCompletionCommand(program: Command): void {
  const command = program.command('completion').description('a script that lets your shell complete commands')
  const shells = Object.keys(scripts)
  command
    .addArgument(command.createArgument('<shell>', 'which runs the script').choices(shells))
    .action(async (shell: string) => {
      const { listsOf, placesOf } = await import('./places.js')
      const script = await scripts[shell]?.()
      const places = placesOf(program)
      process.stdout.write(script?.(listsOf(places), places) ?? '')
    })
}
