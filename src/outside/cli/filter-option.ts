/** `--filter`, and its earlier name `--where`. */
import type { Command } from 'commander'
import { UsageFault } from './guide/exit-codes.js'

export interface FilterOptions {
  readonly filter?: string
  readonly where?: string
}

export const withFilter = (command: Command, description: string): Command =>
  command
    .option('--filter <expression>', description)
    .addOption(command.createOption('--where <expression>', 'the earlier name of --filter').hideHelp())

/** The options with the filter under its name. */
export function filtered<Options extends FilterOptions>({
  where,
  ...options
}: Options): Omit<Options, 'where'> {
  if (where === undefined) return options
  if (options.filter !== undefined)
    throw new UsageFault('--where is the earlier name of --filter: give one of them.')
  return { ...options, filter: where } as Omit<Options, 'where'>
}
