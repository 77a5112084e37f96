/** `weir try`: a command for each kind of draft. */
import type { Command } from 'commander'
import type { Settings } from '../../../management/process/settings.js'
import { timeOption } from '../time-option.js'
import type { TryCommand } from './try.js'

const drafts = [
  ['policies', '<edge>', 'traffic policies of an edge, or of a route: edghts_…/edghtsrt_…; the body of PUT'],
  ['ip-restriction', '<edge>', 'the ip_restriction module of a TCP edge; the body of PUT'],
  ['rules', '<policy>', 'all rules of an IP policy; the body of PUT'],
  ['restriction', '<restriction>', 'changes of an IP restriction; the body of PATCH'],
  ['subscription', '', 'which events a subscription would have made; the body of POST'],
] as const

export function addTryCommand(program: Command, settings: () => Settings): void {
  const tried = program.command('try').description('try a draft on recorded traffic; changes nothing')
  for (const [what, argument, description] of drafts) {
    const command = tried
      .command(`${what} ${argument}`.trim())
      .description(description)
      .requiredOption('--file <file>', 'the draft as JSON; - is standard input')
      .option(
        '--since <time>',
        'which traffic: a length of time such as 90s, 2h or 1d, or a time',
        timeOption,
        '1h',
      )
      .option(
        '--time <which>',
        'stored, or own: --since goes by the times that records say, also those of the past',
      )
      .option('--json', 'the whole trial as JSON')
      .action(async (...given: unknown[]) => {
        const { tryDraft } = await import('./try.js')
        const options = given[argument === '' ? 0 : 1] as TryCommand
        process.exitCode = await tryDraft(settings(), what, argument === '' ? '' : String(given[0]), options)
      })
    if (what === 'rules') addActionOption(command)
  }
}

const addActionOption = (command: Command): Command =>
  command.addOption(
    command
      .createOption(
        '--action <action>',
        'of all rules, if the file is a plain list: a range per line, # comments',
      )
      .choices(['allow', 'deny'])
      .default('allow'),
  )
