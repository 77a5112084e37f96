/** `weir credentials`: replaces names and passwords of users of NATS, while the service runs. */
import type { Command } from 'commander'
import type { Credentials, CredentialsReport } from '../../management/process/credentials.js'
import type { Settings } from '../../management/process/settings.js'

interface Options {
  readonly user?: string
  readonly offline?: true
  readonly json?: true
}

interface Verb {
  readonly name: 'rotate' | 'status' | 'drop'
  readonly description: string
  readonly run: (credentials: Credentials, options: Options) => Promise<CredentialsReport>
}

const verbs: readonly Verb[] = [
  {
    name: 'rotate',
    description: 'make new logins, which are good next to the earlier ones; or finish what was begun',
    run: (credentials, { offline }) => credentials.rotate({ isOffline: offline === true }),
  },
  {
    name: 'status',
    description: 'which users have an earlier login, and how many connections use it',
    run: (credentials) => credentials.status(),
  },
  {
    name: 'drop',
    description: 'refuse the earlier logins, and close their connections',
    run: (credentials) => credentials.drop(),
  },
]

export function addCredentialsCommand(program: Command, settings: () => Settings): void {
  const group = program.command('credentials').description('replace the logins of users of NATS')
  for (const { name, description, run } of verbs) {
    const command = group
      .command(name)
      .description(description)
      .option('--user <name>', 'only this user of NATS')
      .option('--json', 'states, names, files and connections as JSON')
    if (name === 'rotate')
      command.option('--offline', 'ask no nats-server of your own whether it takes the new logins')
    command.action(async (options: Options) => {
      const { Credentials } = await import('../../management/process/credentials.js')
      const report = await run(new Credentials(settings(), options.user), options)
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : textOf(report))
    })
  }
}

/** Passwords are only in the files. */
function textOf({ users, msg }: CredentialsReport): string {
  const open = users.filter(({ state }) => state !== 'one')
  const lines = open.map(({ user, login, earlier, connections, programs = [] }) => {
    const names = programs.length === 0 ? '' : ` (${programs.join(', ')})`
    const use = connections === undefined ? '' : `, which has connections: ${connections}${names}`
    return `${user}: ${login ?? user}${earlier === null ? '' : `, earlier ${earlier}${use}`}\n`
  })
  return [...lines, `${msg}\n`].join('')
}
