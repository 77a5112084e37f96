/** `weir publish --check`: reads a sample, and shows what would be published. Nothing is sent. */
import { open } from 'node:fs/promises'
import {
  type Format,
  type FramedLine,
  type Given,
  recordOfLine,
} from '../../../delivery/ingest/lines/format.js'
import { LineSplitter, lineBytesMax, type RawLine } from '../../../delivery/ingest/lines/line-splitter.js'
import { LogEnvelopes } from '../../../delivery/ingest/log-envelope.js'
import { FileReader, markOf } from '../../../delivery/ingest/log-file.js'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { columnOf, Doubts, excerpt, Refusals } from './refusals.js'

const shownMax = 3
/** Lines that are read of a sample. */
const linesMax = 100_000

interface Sample {
  readonly format: Format
  readonly given: Given
  /** `-`: standard input. */
  readonly path: string
  readonly isJson: boolean
}

interface Made {
  read: number
  records: number
  /** The first ones, each with its line. */
  readonly examples: { readonly line: number; readonly record: unknown }[]
  /** The first line that is refused for each reason. */
  readonly marks: string[]
  readonly refusals: Refusals
  readonly doubts: Doubts
  isCut: boolean
}

/** Resolves with the exit code: 1 if a line can't be read, or there is none. */
export async function checkSample(sample: Sample): Promise<number> {
  const made: Made = {
    read: 0,
    records: 0,
    examples: [],
    marks: [],
    isCut: false,
    refusals: new Refusals(),
    doubts: new Doubts(),
  }
  const envelopes = new LogEnvelopes<Numbered>()
  let number = 1
  for await (const line of linesOf(sample.path)) {
    for (const inside of envelopes.open({ ...line, number })) readLine(sample, inside, made)
    number += line.fieldLines ?? 1
    made.isCut = made.read >= linesMax
    if (made.isCut) break
  }
  for (const inside of envelopes.rest()) readLine(sample, inside, made)
  print(sample, made)
  return made.read > 0 && made.records === made.read ? 0 : 1
}

interface Numbered extends RawLine {
  /** Where its first part stands in the file. */
  readonly number: number
}

async function* linesOf(path: string): AsyncGenerator<RawLine> {
  if (path === '-') {
    const splitter = new LineSplitter()
    for await (const chunk of process.stdin) yield* splitter.push(chunk as Buffer)
    const last = splitter.rest()
    if (last !== undefined) yield last
    return
  }
  const file = await open(path, 'r').catch((error: unknown) => {
    throw new StartFault(`${path} can't be read: ${messageOf(error)}.`)
  })
  try {
    const mark = await markOf(file)
    const reader = new FileReader(file, 0, mark)
    const { signal } = new AbortController()
    const lists = mark.isGzip ? reader.inflatedLines(signal) : reader.lines(signal)
    for await (const lines of lists) yield* lines
    for (const lines of reader.unfinished()) yield* lines
  } catch (error) {
    throw error instanceof StartFault ? error : new StartFault(`${path} can't be read: ${messageOf(error)}.`)
  } finally {
    await file.close()
  }
}

function readLine({ format, given }: Sample, line: Numbered & FramedLine, made: Made): void {
  const { text, isTooLong, number } = line
  if (text.trim() === '') return
  made.read += 1
  const record = isTooLong
    ? ({ ok: false, problem: { msg: `It has more than ${lineBytesMax} bytes.` } } as const)
    : recordOfLine(format, line, given, `line-${number}`, (doubt) => made.doubts.add(doubt, number))
  if (!record.ok) {
    if (made.refusals.add(text, number, record.problem))
      made.marks.push(
        `Line ${number}:`,
        ...excerptOf(text, columnOf(text, record.problem)),
        `  ${record.problem.msg}`,
      )
    return
  }
  made.records += 1
  if (made.examples.length < shownMax) made.examples.push({ line: number, record: JSON.parse(record.value) })
}

const excerptOf = (text: string, column: number | undefined): readonly string[] =>
  column === undefined ? [`  ${text.slice(0, 100).replaceAll(/\p{Cc}/gu, '.')}`] : excerpt(text, column)

function print({ format, isJson }: Sample, made: Made): void {
  const { read, records, examples, refusals, marks, doubts, isCut } = made
  if (isJson) {
    const counts = { format: format.name, read, records, refused: read - records, reasons: refusals.all }
    process.stdout.write(`${JSON.stringify({ ...counts, doubts: doubts.all, examples })}\n`)
    return
  }
  const say = (text: string): void => void process.stdout.write(`${forTerminal(text)}\n`)
  for (const { line, record } of examples) {
    say(`Line ${line} becomes:`)
    for (const part of JSON.stringify(record, null, 2).split('\n')) say(`  ${part}`)
  }
  for (const mark of marks) say(mark)
  say(
    `${format.name}: ${read} lines${isCut ? ' (the rest is not looked at)' : ''}, ${records} become records, ${read - records} are refused.`,
  )
  for (const sentence of [...refusals.sentences, ...doubts.sentences]) say(`  ${sentence}`)
  say('Nothing was sent.')
}
