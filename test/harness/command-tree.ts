/** The tree of commands, as main.ts declares it. */
import { Command } from 'commander'

/** Nothing runs. The tree of a process is always the same, because a module is loaded once. */
export async function commandTree(): Promise<Command> {
  const parse = Command.prototype.parseAsync
  Command.prototype.parseAsync = async function (this: Command) {
    root = this
    return this
  }
  try {
    await import('../../src/main.js')
  } finally {
    Command.prototype.parseAsync = parse
  }
  if (root === undefined) throw new Error('main.ts has parsed nothing.')
  return root
}

let root: Command | undefined
