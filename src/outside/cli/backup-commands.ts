/** `weir backup` and `weir restore`. */
import type { Command } from 'commander'
import { ProgressLine } from './progress.js'

type Progressed = (what: string, done: number, of: number) => void

/** What the manifest says of a backup, as much as is printed. */
interface Summary {
  readonly began_at: string
  readonly accounts: number
  readonly letters_left: number
  readonly kinds: readonly { readonly rows: number }[]
  readonly streams: readonly { readonly state: { readonly messages: number } }[]
}

interface BackupWork {
  backUp(path: string, progressed: Progressed): Promise<Summary>
  restore(path: string, progressed: Progressed): Promise<Summary>
}

export function addBackupCommands(program: Command, work: BackupWork): void {
  program
    .command('backup')
    .description('copy configuration, history, waiting records, events and dead letters while all goes on')
    .summary('copy all that can not be made again')
    .argument('<path>', 'a new directory, or a new file that ends in .tar')
    .option('--json', 'what it holds, as JSON')
    .action((path: string, options: { json?: true }) => report('backed up', options, path, work.backUp))
  program
    .command('restore')
    .description('restore a backup into an empty deployment, whose service does not run yet')
    .summary('restore a backup into an empty deployment')
    .argument('<path>', 'what weir backup wrote')
    .option('--json', 'what was restored, as JSON')
    .action((path: string, options: { json?: true }) => report('restored', options, path, work.restore))
}

async function report(
  done: string,
  { json }: { readonly json?: true },
  path: string,
  run: BackupWork['backUp'],
): Promise<void> {
  const line = new ProgressLine()
  let summary: Summary
  try {
    summary = await run(path, (what, done, of) => line.show(what, { done, of }))
  } finally {
    line.end()
  }
  const rows = summary.kinds.reduce((sum, kind) => sum + kind.rows, 0)
  const messages = summary.streams.reduce((sum, { state }) => sum + state.messages, 0)
  const { began_at, accounts, letters_left } = summary
  const said = json
    ? JSON.stringify({ path, began_at, accounts, rows, messages, letters_left })
    : `${done}: ${accounts} accounts, ${rows} rows, ${messages} messages, as of ${began_at}`
  process.stdout.write(`${said}\n`)
  if (letters_left > 0)
    process.stderr.write(
      `weir: ${letters_left} dead letters expired, were dropped or sent again while the backup was made: events of those that were sent again may be missing in it.\n`,
    )
}
