/**
 * `weir dead`: shows dead letters and their reasons, sends them again, or drops them. With an API key: the letters of
 * its account. With `--all`: those of all accounts and of none, for an operator who may use the data directory.
 */
import type { Command } from 'commander'
import { messageOf, StartFault } from '../../ground/core/errors.js'
import { readInput } from '../../ground/core/files/bounded-file.js'
import { forTerminal } from '../../ground/core/text/terminal.js'
import type { Settings } from '../../management/process/settings.js'
import type {
  DeadLetterClient,
  DeadLetterSelection,
  DeadLetterTotals,
} from '../../words/client/dead-letters.js'
import type { DeadLetterGroups, WholeDeadLetter } from '../../words/shape/dead-letter.js'
import { UsageFault } from './guide/exit-codes.js'
import type { AskOwner } from './operator-http.js'
import { ProgressLine } from './progress.js'
import { timeOption } from './time-option.js'

interface SelectionOptions {
  readonly type?: DeadLetterSelection['type']
  readonly reason?: string
  readonly destination?: string
  readonly since?: string
  readonly until?: string
}

interface SightOptions {
  /** Letters of all accounts, and of none. */
  readonly all?: true
}

interface ListOptions extends SelectionOptions, SightOptions {
  readonly each?: true
  readonly json?: true
}

interface ChangeOptions extends SelectionOptions, SightOptions {
  readonly json?: true
  readonly own?: true
  readonly file?: string
}

const allText = 'letters of all accounts, and those that name none: for an operator, without an API key'

const selecting = (command: Command): Command =>
  command
    .option('--type <type>', 'record, event or audit')
    .option('--reason <reason>', 'exactly this one; … stands for any text')
    .option('--destination <id>', 'events for this destination')
    .option(
      '--since <time>',
      'set aside since then: a length of time such as 90s, 1h or 7d, or a time',
      timeOption,
    )
    .option('--until <time>', 'set aside before then: the same', timeOption)

const report = (text: string): void => void process.stdout.write(`${text}\n`)

const reportTotals = (what: string, totals: DeadLetterTotals, { json }: ChangeOptions): void =>
  report(json ? JSON.stringify(totals) : totalsText(what, totals))

const reportOne = (what: string, id: string, { json }: ChangeOptions): void =>
  report(json ? JSON.stringify({ done: 1, refused: 0, refusals: [] }) : `${id} was ${what}.`)

export function addDeadCommands(program: Command, settings: () => Settings, ask: AskOwner): void {
  const dead = program.command('dead').description('dead letters: records and events that were set aside')
  const clientOf = async ({ all }: SightOptions): Promise<DeadLetterClient> => {
    if (all) return (await import('./operator-http.js')).operatorDeadLetters(ask)
    const { clientOf: open } = await import('./connection/api-client.js')
    return open(settings()).deadLetters
  }

  selecting(dead.command('list').description('how many there are, by reason and destination'))
    .option('--each', 'each letter, newest first')
    .option('--all', allText)
    .option('--json', 'as JSON; with --each, a line for each')
    .action(async ({ each, json, ...options }: ListOptions) => {
      const letters = await clientOf(options)
      if (each)
        for await (const letter of letters.list(selectionOf(options)))
          report(json ? JSON.stringify(letter) : forTerminal(letterLine(letter)))
      else {
        const groups = await letters.groups(selectionOf(options))
        report(json ? JSON.stringify(groups) : forTerminal(groupsText(groups, options)))
      }
    })

  dead
    .command('show')
    .description('one with its bytes; the place that its reason names is marked')
    .argument('<id>', 'dl_…')
    .option('--all', allText)
    .option('--json', 'the answer of the API')
    .action(async (id: string, { json, ...options }: SightOptions & { json?: true }) => {
      const letter = await (await clientOf(options)).get(id)
      report(json ? JSON.stringify(letter) : forTerminal(letterText(letter)))
    })

  const changing = (name: string, description: string): Command =>
    selecting(dead.command(name).description(description))
      .argument('[id]', 'dl_…')
      .option('--own', 'all letters of the account')
      .option('--all', `${allText}; without an id or other options, each of them`)
      .option('--json', 'how many were, and which were refused, as JSON')

  changing('resend', 'send one again, or all that the options select')
    .option('--file <file>', 'with an id: the corrected record as JSON; - is standard input')
    .action(async (id: string | undefined, options: ChangeOptions) => {
      const selection = selectionFor(id, options)
      const letters = await clientOf(options)
      if (id === undefined)
        return reportTotals('sent again', await ofAll(letters, 'resendAll', selection), options)
      await letters.resend(id, options.file === undefined ? undefined : recordIn(options.file))
      reportOne('sent again', id, options)
    })

  changing('drop', 'remove one for good, or all that the options select').action(
    async (id: string | undefined, options: ChangeOptions) => {
      const selection = selectionFor(id, options)
      const letters = await clientOf(options)
      if (id === undefined)
        return reportTotals('dropped', await ofAll(letters, 'dropAll', selection), options)
      await letters.drop(id)
      reportOne('dropped', id, options)
    },
  )
}

/** For a person who waits, the letters are counted first. */
async function ofAll(
  letters: DeadLetterClient,
  verb: 'resendAll' | 'dropAll',
  selection: DeadLetterSelection,
): Promise<DeadLetterTotals> {
  const line = new ProgressLine()
  const of = line.isWatched ? countOf(await letters.groups(selection)) : undefined
  try {
    return await letters[verb](selection, ({ done, refused }) =>
      line.show(
        `${done} done, ${refused} refused`,
        of === undefined ? undefined : { done: done + refused, of },
      ),
    )
  } finally {
    line.end()
  }
}

/** Undefined if not all are counted. */
const countOf = ({ groups, groups_left_out, complete_since }: DeadLetterGroups): number | undefined =>
  groups_left_out > 0 || complete_since !== null
    ? undefined
    : groups.reduce((sum, { count }) => sum + count, 0)

const selectionOf = ({ type, reason, destination, since, until }: SelectionOptions): DeadLetterSelection =>
  Object.fromEntries(
    Object.entries({ type, reason, destinationId: destination, since, until }).filter(
      ([, value]) => value !== undefined,
    ),
  )

/** A command must name a letter, a selection, or all: otherwise it changes nothing. */
export function selectionFor(id: string | undefined, options: ChangeOptions): DeadLetterSelection {
  const { own, all, file } = options
  const selection = selectionOf(options)
  const names = Object.keys(selection)
  if (file !== undefined && id === undefined)
    throw new UsageFault('--file corrects one record: give the id of its dead letter.')
  if (id !== undefined && (own || names.length > 0))
    throw new UsageFault('Give an id, or options that select, not both.')
  if (own && (all || names.length > 0))
    throw new UsageFault('--own selects all letters of the account: leave out other options.')
  if (id === undefined && !own && !all && names.length === 0)
    throw new UsageFault(
      'Give an id, options that select, --own (all letters of the account) or --all (those of all accounts).',
    )
  return selection
}

/** More than a record may have. */
const recordBytesMax = 64 * 1024 * 1024

function recordIn(file: string): object {
  try {
    return JSON.parse(readInput(file, recordBytesMax).toString()) as object
  } catch (error) {
    throw new StartFault(`The record in ${file} can't be read: ${messageOf(error)}`)
  }
}

// --- texts ---

/** For an operator, the account is shown, too; null if the letter has none. */
interface Owned {
  readonly account_id?: string | null
}

type Row = Pick<WholeDeadLetter, 'id' | 'at' | 'type' | 'reason' | 'destination_id' | 'event_id'> & Owned

const ownerOf = ({ account_id }: Owned): string | undefined =>
  account_id === null ? 'no account' : account_id

const letterLine = (row: Row): string => {
  const { id, at, type, reason, destination_id, event_id } = row
  const origin = [ownerOf(row), destination_id, event_id].filter(Boolean)
  return [at, type.padEnd(6), id, ...origin, reason].join('  ')
}

/** A line per group: `12  record  "conn.client_ip" is …` and a second with its times and an example. */
export function groupsText(
  { groups, groups_left_out, complete_since }: DeadLetterGroups,
  { all }: SightOptions,
): string {
  const lines = groups.flatMap(({ type, reason, destination_id, count, first_at, last_at, example_id }) => [
    [String(count).padStart(7), type.padEnd(6), reason].join('  '),
    `${' '.repeat(9)}${[destination_id, `${first_at} to ${last_at}`, `such as ${example_id}`].filter(Boolean).join(', ')}`,
  ])
  if (lines.length === 0)
    lines.push(
      all
        ? 'There are no dead letters.'
        : 'The account has no dead letters. An operator sees those that name no account with --all.',
    )
  if (groups_left_out > 0) lines.push(`${groups_left_out} smaller groups are left out.`)
  if (complete_since !== null)
    lines.push(`There are more: only those since ${complete_since} are counted; --until shows older ones.`)
  return lines.join('\n')
}

/** The letter's origin, its reason, the marked place, and its bytes. */
export function letterText(letter: WholeDeadLetter & Owned): string {
  const { sequence, line, subject, size, is_truncated, text, base64, place, reason } = letter
  const origin = [
    sequence === null ? undefined : `message ${sequence}`,
    line === null ? undefined : `line ${line}`,
    subject,
    ownerOf(letter),
    letter.destination_id,
    letter.event_id,
    `${size} bytes${is_truncated ? ', of which a part is stored' : ''}`,
  ]
  const marked =
    place === null
      ? []
      : [
          `${place.member ?? 'The fault'}: byte ${place.offset}, line ${place.line}, column ${place.column}`,
          `  ${place.excerpt}`,
          `  ${' '.repeat(place.mark)}^`,
        ]
  return [
    `${letter.type} ${letter.id}, set aside ${letter.at}${letter.expires_at ? `, kept until ${letter.expires_at}` : ''}`,
    origin.filter(Boolean).join(', '),
    reason,
    ...marked,
    text === null ? `In base64: ${base64}` : text.trimEnd(),
  ].join('\n')
}

/** `1000 sent again, 2 refused.` and why the first were refused. */
export const totalsText = (what: string, { done, refused, refusals }: DeadLetterTotals): string =>
  [
    refused === 0 ? `${done} ${what}.` : `${done} ${what}, ${refused} refused.`,
    ...refusals.map(({ id, reason }) => `  ${id}: ${reason}`),
  ].join('\n')
