/** `weir import`: what other systems answer, as a file for `weir plan`. */
import type { Command } from 'commander'
import type { ImportCommandOptions } from './import-command.js'

const systems: Readonly<Record<string, { readonly about: string; readonly input: string }>> = {
  ngrok: {
    about: "edges, policies, domains, certificates and event subscriptions, as ngrok's API answers",
    input: 'answers of the list requests, a directory of them, - or the address of the API',
  },
  crowdsec: {
    about: 'decisions and allowlists of CrowdSec',
    input:
      'what the local API or cscli -o json answers, a directory of it, - or the address of the local API',
  },
  'cloudflare-lists': {
    about: 'IP lists of an account at Cloudflare',
    input: 'answers for lists and items, a directory of them, - or the address of the account in the API',
  },
  outpost: {
    about: 'event destinations of a tenant of Outpost',
    input: 'the list of destinations, a directory of such lists, - or the address of the tenant in the API',
  },
}

export function addImportCommands(program: Command): void {
  const group = program
    .command('import')
    .description('read what another system has, and write a file for weir plan; nothing is sent to Weir')
    .summary('a file for weir plan from what another system has')
  for (const [name, { about, input }] of Object.entries(systems)) {
    const command = group
      .command(name)
      .description(`${about}, as a file for weir plan`)
      .summary(about)
      .argument('<input>', input)
      .option('--output <file>', 'write the file there instead of to standard output')
      .option('--report <file>', 'write what became of each item there, as JSON')
      .option('--json', 'print the report as JSON; the file goes to --output')
      .option('--strict', 'end with 1 if an item is not taken')
      .option('--key-file <file>', 'the key of the API, instead of the variable of the environment')
    if (name === 'crowdsec')
      command.option('--at <time>', 'when it was answered, for durations; default: when the file was written')
    if (name === 'outpost') command.option('--aws-account <id>', 'the account at AWS that streams belong to')
    command.action(async (source: string, options: ImportCommandOptions) => {
      process.exitCode = await (await import('./import-command.js')).importFrom(name, source, options)
    })
  }
}
