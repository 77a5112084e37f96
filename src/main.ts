/** Start here: the command line. Roles run in this process; an operator's commands go to the process with the store. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { versionAndBuild } from './ground/core/package.js'
import { showSources } from './ground/core/telemetry/stack-traces.js'
import { errorText, forTerminal } from './ground/core/text/terminal.js'
import { sentenceForTerminal } from './ground/core/text/times.js'
import type { Frame, Role } from './management/process/child.js'
import type { RoleContext } from './management/process/role-context.js'
import { type ChildRole, secretsOf } from './management/process/role-secrets.js'
import { type AdminCommand, readRuntime, sendAdminCommand } from './management/process/running-service.js'
import { loadSettings, type Settings } from './management/process/settings.js'
import { addAccountCommands } from './outside/cli/account-commands.js'
import { addConsoleCommand } from './outside/cli/console-command.js'
import { addDdlCommand } from './outside/cli/ddl.js'
import { addDeadCommands } from './outside/cli/dead-commands.js'
import { addDecisionCommands } from './outside/cli/decision-commands.js'
import { addDestinationCommands } from './outside/cli/destination-commands.js'
import { type FilterOptions, filtered, withFilter } from './outside/cli/filter-option.js'
import { addLintCommand } from './outside/cli/lint-command.js'
import { addNatsConfigCommand } from './outside/cli/nats-config-command.js'
import { addPolicyTestCommand } from './outside/cli/policy-test-command.js'
import { addPublishCommand } from './outside/cli/publish/publish-command.js'
import { addRecordCommands } from './outside/cli/record-commands.js'
import type { ReplayOptions } from './outside/cli/replay-command.js'
import type { TapOptions } from './outside/cli/tap.js'
import type { Program } from './roles/programs.js'

showSources()

const mainModule = fileURLToPath(import.meta.url)

const program = new Command('weir')
  .description('Traffic event pipeline and policy evaluator.')
  .version(versionAndBuild(), '--version', 'print the version, and the commit that it was built from')
  .option('--config <file>', 'a file of settings; the environment overrides it')
  .showHelpAfterError()

const configFile = (): string | undefined => program.opts<{ config?: string }>().config

/** This program as its own processes start it: with the same settings. */
const thisProgram: Program = {
  module: mainModule,
  argumentsOf: (role) => {
    const file = configFile()
    return file === undefined ? [role] : ['--config', resolve(file), role]
  },
}

function settings(): Settings {
  const { settings: loaded, warnings } = loadSettings({ file: configFile() })
  for (const warning of warnings) process.stderr.write(`weir: ${warning}\n`)
  return loaded
}

/**
 * The settings of a role. A child takes its own secrets only, also from the file. It prints no warnings: its parent read the
 * same settings and did.
 */
function settingsOfRole(name: ChildRole): Settings {
  if (process.send === undefined) return settings()
  return loadSettings({ file: configFile(), secrets: secretsOf[name] }).settings
}

// --- roles ---

/** Processes that a role starts for one purpose. Like roles, they are loaded where they run, so commands start quickly. */
const children = () => import('./roles/children.js')

/** The frame of a process, and the logger and metrics in it: commands of an operator need neither. */
const processes = () => import('./management/process/child.js')

async function contextOf(name: ChildRole | 'serve'): Promise<RoleContext> {
  const { createRoleContext } = await import('./management/process/role-context.js')
  return createRoleContext(name === 'serve' ? settings() : settingsOfRole(name), name)
}

/** A command that runs one role in this process. */
function roleCommand(
  name: ChildRole,
  description: string,
  open: (context: RoleContext, frame: Frame) => Promise<Role>,
): void {
  program
    .command(name)
    .description(description)
    .action(async () => {
      const { runRole } = await processes()
      const context = await contextOf(name)
      return runRole({ ...context, open: (frame) => open(context, frame) })
    })
}

program
  .command('serve')
  .description(
    'everything on this machine: API, pipeline, decisions, delivery, and a nats-server unless NATS_URL is set',
  )
  .action(async () => {
    const { serve } = await import('./roles/serve.js')
    await serve(await contextOf('serve'), thisProgram)
  })

roleCommand('api', 'the management API', async (...run) =>
  (await import('./roles/api.js')).openApi(...run, thisProgram),
)
roleCommand('pipeline', 'records in, events out; on its own it also runs decide', async (...run) =>
  (await import('./roles/pipeline.js')).openPipeline(...run, thisProgram),
)
roleCommand('decide', 'only the answers to weir.decide and weir.decide.agent', async (...run) =>
  (await import('./roles/decide.js')).openDecide(...run),
)
roleCommand('deliver', 'events to their destinations', async (...run) =>
  (await import('./roles/deliver.js')).openDeliver(...run),
)

program
  .command('quarantine', { hidden: true })
  .description('started by a pipeline: tries records that may crash the process')
  .action(async () => {
    // A record that never finishes would keep the process alive after its parent has ended.
    await (await processes()).guard(true)
    await (await children()).openQuarantine(await contextOf('quarantine'))
  })

program
  .command('trial', { hidden: true })
  .description('started by the API: evaluates a draft over recorded traffic')
  .action(async () => {
    await (await processes()).guard(true)
    await (await children()).openTrial(await contextOf('trial'))
  })

// --- commands of an operator ---

/** Sends the command to the service on this data directory, or opens the store if none runs. */
async function askOwner(command: AdminCommand): Promise<string> {
  const loaded = settings()
  const running = readRuntime(loaded.data.dir)
  return running === undefined
    ? await (await import('./roles/admin.js')).administerAlone(loaded, command)
    : await sendAdminCommand(running.adminUrl, running.adminToken, command)
}

async function administer(command: AdminCommand): Promise<void> {
  const answer = await askOwner(command)
  process.stdout.write(process.stdout.isTTY ? forTerminal(answer) : answer)
}

addAccountCommands(program, administer)
addConsoleCommand(program, settings)
addDdlCommand(program, async () => (await import('./roles/store-parts.js')).ownTables(settings()))
addDeadCommands(program, settings, askOwner)
addDestinationCommands(program, settings)
addDecisionCommands(program, settings)
addLintCommand(program, settings)
addNatsConfigCommand(program, settings)
addPolicyTestCommand(program, settings)
addPublishCommand(program, settings)
addRecordCommands(program, settings)

withFilter(
  program
    .command('tap')
    .description('decisions of an account as they happen; needs an API key in WEIR_API_KEY'),
  'only these, such as "decision != \'allow\'"',
)
  .option('--edge <id>', 'only those at this edge')
  .option('--destination <id>', 'events as they are sent to this destination, with the outcome, instead')
  .option('--dead', 'records and events that are set aside, with the reason, instead')
  .option('--json', 'a line of JSON for each')
  .action(async (options: TapOptions & FilterOptions) => {
    const { tap } = await import('./outside/cli/tap.js')
    await tap(settings(), filtered(options))
  })

withFilter(
  program
    .command('top')
    .description('rates of decisions and the state of destinations; needs an API key in WEIR_API_KEY'),
  'count only these',
)
  .option('--edge <id>', 'count only those at this edge')
  .option('--time <which>', 'own: what began more than a minute before is counted apart; default: stored')
  .option('--json', 'each picture as a line of JSON')
  .action(async (options: FilterOptions & { edge?: string; json?: true; time?: string }) => {
    const { top } = await import('./outside/cli/top.js')
    await top(settings(), filtered(options))
  })

const tried = program
  .command('try')
  .description('try a draft on recorded traffic; changes nothing; needs an API key in WEIR_API_KEY')
const triedDrafts = [
  ['policies', '<edge>', 'traffic policies of an edge, or of a route: edghts_…/edghtsrt_…; the body of PUT'],
  ['ip-restriction', '<edge>', 'the ip_restriction module of a TCP edge; the body of PUT'],
  ['rules', '<policy>', 'all rules of an IP policy; the body of PUT'],
  ['restriction', '<restriction>', 'changes of an IP restriction; the body of PATCH'],
  ['subscription', '', 'which events a subscription would have made; the body of POST'],
] as const
for (const [what, argument, description] of triedDrafts) {
  const command = tried
    .command(`${what} ${argument}`.trim())
    .description(description)
    .requiredOption('--file <file>', 'the draft as JSON; - is standard input')
    .option('--since <time>', 'which traffic: a length of time such as 90s, 2h or 1d, or a time', '1h')
    .option(
      '--time <which>',
      'stored, or own: --since goes by the times that records say, also those of the past',
    )
    .option('--json', 'the whole trial as JSON')
    .action(async (...given: unknown[]) => {
      const { tryDraft } = await import('./outside/cli/try.js')
      const options = given[argument === '' ? 0 : 1] as Parameters<typeof tryDraft>[3]
      process.exitCode = await tryDraft(settings(), what, argument === '' ? '' : String(given[0]), options)
    })
  if (what === 'rules')
    command.addOption(
      new Option(
        '--action <action>',
        'of all rules, if the file is a plain list: a range per line, # comments',
      )
        .choices(['allow', 'deny'])
        .default('allow'),
    )
}

withFilter(
  program
    .command('replay')
    .description('send the events of recorded traffic again; needs an API key in WEIR_API_KEY'),
  'only events for which it is true, such as "decision != \'allow\'"',
)
  .argument('<destination>', 'ed_…')
  .requiredOption('--from <time>', 'a length of time such as 90s, 2h or 1d, or a time')
  .option('--to <time>', 'the same; default: now')
  .option(
    '--type <type>',
    'only events of this type, such as tcp_connection_closed.v0; may be repeated',
    (type: string, others: readonly string[] = []) => [...others, type],
  )
  .option('--json', 'the replay as JSON, when it has ended')
  .action(async (destination: string, options: ReplayOptions & FilterOptions) => {
    const { replayTo } = await import('./outside/cli/replay-command.js')
    process.exitCode = await replayTo(settings(), destination, filtered(options))
  })

program
  .command('changes')
  .description('who changed what, newest first: time, account, version, resource, author, request, fields')
  .option('--since <time>', 'a length of time such as 90s, 1h or 7d, or a time', '24h')
  .option('--account <id>', 'only this account, ac_…')
  .option('--kind <kind>', 'only this kind of resource, such as tcp_edge')
  .option('--json', 'a JSON object per line, with the values before and after')
  .action(({ json, ...options }: { since: string; account?: string; kind?: string; json?: true }) =>
    administer({ command: 'changes', ...options, ...(json ? { json: 'yes' } : {}) }),
  )

program
  .command('sql')
  .description('query the store: a view per kind, and <kinds>_history with all versions')
  .argument('<query>', 'select …')
  .option('--format <format>', 'pretty, tsv, csv or json', 'pretty')
  .option('--json', 'the same as --format json: an object per line')
  .action((query: string, { format, json }: { format: string; json?: true }) =>
    administer({ command: 'sql', query, format: json ? 'json' : format }),
  )

program
  .command('store')
  .description('resolve a contradiction between ClickHouse and NATS')
  .command('adopt')
  .description('rebuild the configuration in NATS from ClickHouse')
  .action(() => administer({ command: 'store adopt' }))

program
  .command('demo')
  .description('show what Weir does, with an emulated AWS and sample records')
  .option('--once', 'exit when everything has arrived')
  .option('--records <file>', 'replay this file (.ndjson or .ndjson.gz)')
  .action(async (options: { once?: boolean; records?: string }) => {
    const { runDemo } = await import('./outside/demo/demo.js')
    const { stopSignal } = await processes()
    const exitCode = await runDemo({
      ...options,
      module: mainModule,
      stopped: stopSignal(),
    })
    // Work that was interrupted by the stop is not waited for.
    process.exit(exitCode)
  })

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${sentenceForTerminal(errorText(error))}\n`)
  process.exit(1)
})
