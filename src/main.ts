/** Start here: the command line. Roles run in this process; an operator's commands go to the process with the store. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { versionAndBuild } from './ground/core/package.js'
import { showSources } from './ground/core/telemetry/stack-traces.js'
import { errorText, forTerminal } from './ground/core/text/terminal.js'
import { sentenceForTerminal } from './ground/core/text/times.js'
import type { Frame, Role } from './management/process/child.js'
import type { RoleContext } from './management/process/role-context.js'
import { type ChildRole, secretsOf } from './management/process/role-secrets.js'
import {
  type AdminCommand,
  type RunCommand,
  readRuntime,
  sendAdminCommand,
} from './management/process/running-service.js'
import { SettingsError } from './management/process/secret-files.js'
import { loadSettings, type Settings } from './management/process/settings.js'
import { addAccountCommands } from './outside/cli/account-commands.js'
import { addAsCodeCommands } from './outside/cli/as-code/as-code-commands.js'
import { addBackupCommands } from './outside/cli/backup-commands.js'
import { addCompletionCommand } from './outside/cli/completion/completion-command.js'
import { addLoginCommands } from './outside/cli/connection/login-commands.js'
import { addConsoleCommand } from './outside/cli/console-command.js'
import { addCredentialsCommand } from './outside/cli/credentials-command.js'
import { addDdlCommand } from './outside/cli/ddl.js'
import { addDeadCommands } from './outside/cli/dead-commands.js'
import { addDecisionCommands } from './outside/cli/decision-commands.js'
import { addDestinationCommands } from './outside/cli/destination-commands.js'
import { addDoctorCommand } from './outside/cli/doctor/doctor-command.js'
import { exitCodeOf, exitCodeOfParsing, UsageFault } from './outside/cli/guide/exit-codes.js'
import { addGuide, helpForm, helpWidths } from './outside/cli/guide/help.js'
import { addImportCommands } from './outside/cli/import/import-commands.js'
import { addLintCommand } from './outside/cli/lint-command.js'
import { addNatsConfigCommand } from './outside/cli/nats-config-command.js'
import { addPolicyTestCommand } from './outside/cli/policy-tests/policy-test-command.js'
import { addPublishCommand } from './outside/cli/publish/publish-command.js'
import { addRecordCommands } from './outside/cli/record-commands.js'
import { addReplayCommand } from './outside/cli/replay-command.js'
import { addSecretKeyCommand } from './outside/cli/secret-key-command.js'
import { addStoreCommand, addStoreReaders } from './outside/cli/store-commands.js'
import { addTryCommand } from './outside/cli/try/try-command.js'
import { addWatchCommands } from './outside/cli/watch-commands.js'
import type { Program } from './roles/programs.js'

showSources()

const mainModule = fileURLToPath(import.meta.url)

const program = new Command('weir')
  .description('Traffic event pipeline and policy evaluator.')
  .version(versionAndBuild(), '--version', 'print the version, and the commit that it was built from')
  .option('--config <file>', 'a file of settings; the environment overrides it')
  .option('--profile <name>', 'the address and key that weir login kept under this name')
  .configureHelp(helpForm)
  .configureOutput(helpWidths)
  .showHelpAfterError()
  .exitOverride((error) => process.exit(exitCodeOfParsing(error.exitCode)))

const configFile = (): string | undefined => program.opts<{ config?: string }>().config

/** This program as its own processes start it: with the same settings. */
const thisProgram: Program = {
  module: mainModule,
  argumentsOf: (role) => {
    const file = configFile()
    return file === undefined ? [role] : ['--config', resolve(file), role]
  },
}

function settingsOfStart(): Settings {
  const { settings: loaded, warnings } = loadSettings({ file: configFile() })
  for (const warning of warnings) process.stderr.write(`weir: ${warning}\n`)
  const { profile = loaded.client.profile } = program.opts<{ profile?: string }>()
  return { ...loaded, client: { ...loaded.client, profile } }
}

/** The settings of a command: one that is not allowed is a wrong call, while a role can't start with it. */
function settings(): Settings {
  try {
    return settingsOfStart()
  } catch (error) {
    throw error instanceof SettingsError ? new UsageFault(error.message) : error
  }
}

/**
 * The settings of a role. A child takes its own secrets only, also from the file. It prints no warnings: its parent read the
 * same settings and did.
 */
function settingsOfRole(name: ChildRole): Settings {
  if (process.send === undefined) return settingsOfStart()
  return loadSettings({ file: configFile(), secrets: secretsOf[name] }).settings
}

// --- roles ---

/** Processes that a role starts for one purpose. Like roles, they are loaded where they run, so commands start quickly. */
const children = () => import('./roles/children.js')

/** The frame of a process, and the logger and metrics in it: commands of an operator need neither. */
const processes = () => import('./management/process/child.js')

async function contextOf(name: ChildRole | 'serve'): Promise<RoleContext> {
  const { createRoleContext, openRoleContext } = await import('./management/process/role-context.js')
  if (name === 'serve') return openRoleContext(settingsOfStart(), name)
  // They live for one purpose, and get no secrets: not even those of a collector.
  const isHelper = name === 'quarantine' || name === 'trial'
  return (isHelper ? createRoleContext : openRoleContext)(settingsOfRole(name), name)
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

program.commandsGroup('Run Weir:')
program
  .command('serve')
  .description(
    'everything on this machine: API, pipeline, decisions, delivery, and a nats-server unless NATS_URL is set',
  )
  .summary('everything on this machine')
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

addNatsConfigCommand(program, settings)

// --- commands of an operator ---

/** Sends the command to the service on this data directory, or opens the store if none runs. */
async function askOwner(command: AdminCommand): Promise<string> {
  const loaded = settings()
  const running = readRuntime(loaded.data.dir)
  return running === undefined
    ? await (await import('./roles/admin.js')).administerAlone(loaded, command)
    : await sendAdminCommand(running.adminUrl, running.adminToken, command)
}

/** Several commands: if no service runs, the store is opened once for all. */
async function withOwner<T>(work: (loaded: Settings, ask: RunCommand) => Promise<T>): Promise<T> {
  const loaded = settings()
  const running = readRuntime(loaded.data.dir)
  if (running !== undefined)
    return work(loaded, (command) => sendAdminCommand(running.adminUrl, running.adminToken, command))
  const { ReleaseStack } = await import('./ground/core/release.js')
  const { openAlone } = await import('./roles/admin.js')
  await using release = new ReleaseStack()
  return await work(loaded, await openAlone(loaded, release))
}

async function administer(command: AdminCommand): Promise<void> {
  const answer = await askOwner(command)
  process.stdout.write(process.stdout.isTTY ? forTerminal(answer) : answer)
}

program.commandsGroup('Look at what happens:')
addWatchCommands(program, settings)
addDecisionCommands(program, settings)
addRecordCommands(program, settings)
addLintCommand(program, settings)
addStoreReaders(program, administer)
addConsoleCommand(program, settings)

program.commandsGroup('Change what is decided, and who may do what:')
addAsCodeCommands(program, settings)
addImportCommands(program)
addPolicyTestCommand(program, settings)
addTryCommand(program, settings)
addAccountCommands(program, administer)

program.commandsGroup('Move logs in and events out:')
addPublishCommand(program, settings)
addDestinationCommands(program, settings)
addDdlCommand(program, async () => (await import('./roles/store-parts.js')).ownTables(settings()))

program.commandsGroup('Repair:')
addDoctorCommand(program, {
  load: () => loadSettings({ file: configFile() }),
  async reach(loaded) {
    const { reachLines } = await import('./roles/reach-checks.js')
    return reachLines(loaded)
  },
})
addDeadCommands(program, settings, askOwner)
addReplayCommand(program, settings)
addStoreCommand(program, administer)
addBackupCommands(program, {
  async backUp(path, progressed) {
    const { backUp } = await import('./roles/backup.js')
    return withOwner((loaded, ask) => backUp(loaded, path, ask, progressed))
  },
  async restore(path, progressed) {
    const { restoreFrom } = await import('./roles/backup.js')
    return restoreFrom(settings(), path, progressed)
  },
})
addSecretKeyCommand(program, settings)
addCredentialsCommand(program, settings)

program.commandsGroup('This command line:')
addLoginCommands(program, settings)
addCompletionCommand(program)
program.helpCommand(true)
addGuide(program)

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`${sentenceForTerminal(errorText(error))}\n`)
  process.exit(exitCodeOf(error))
})
