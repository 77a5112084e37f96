/** Reads files or an API, imports, and writes the file and the report. */
import { writeFile } from 'node:fs/promises'
import { now } from '../../../ground/core/clock.js'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { readBounded } from '../../../ground/core/files/bounded-file.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { parseTimestamp } from '../../../ground/core/text/timestamp.js'
import { NoAnswer } from '../../../management/process/running-service.js'
import { environment } from '../../../management/process/settings.js'
import { written } from '../../as-code/export.js'
import type { ImportOptions } from '../../import/draft/import-run.js'
import { type ImportedSystem, imported, importedSystems } from '../../import/import.js'
import { type Document, readDocuments } from '../../import/input/document.js'
import { RemoteApi, Unanswered } from '../../import/input/remote-api.js'
import { UsageFault } from '../guide/exit-codes.js'
import { ProgressLine } from '../progress.js'
import { countsIn, importReport } from './import-report.js'

export interface ImportCommandOptions {
  readonly output?: string
  readonly report?: string
  readonly json?: true
  readonly strict?: true
  readonly keyFile?: string
  readonly at?: string
  readonly awsAccount?: string
}

/** The exit code. */
export async function importFrom(
  name: string,
  source: string,
  { output, report, json, strict, keyFile, at, awsAccount }: ImportCommandOptions,
): Promise<number> {
  if (json && output === undefined)
    throw new UsageFault(
      'With --json, standard output has the report: say where the file goes with --output.',
    )
  if (awsAccount !== undefined && !/^\d{12}$/.test(awsAccount))
    throw new UsageFault('--aws-account must be the 12 digits of an account at AWS.')
  const system = importedSystems[name]!
  const nowMs = now()
  const atMs = at === undefined ? undefined : timeOf(at)
  const { documents, writtenAtMs } = await inputOf(system, source, keyFile, nowMs)
  const importOptions = { atMs: atMs ?? writtenAtMs, nowMs, awsAccount }
  const { text, ...result } = inSource(source, () => importedText(system, documents, importOptions))
  if (output === undefined) process.stdout.write(text)
  else await writeFile(output, text)
  const summary = { counts: countsIn(result.report), remarks: result.remarks, items: result.report }
  if (report !== undefined) await writeFile(report, `${JSON.stringify(summary, undefined, 2)}\n`)
  if (json) process.stdout.write(`${forTerminal(JSON.stringify(summary))}\n`)
  else process.stderr.write(`${forTerminal(importReport(result, report))}\n`)
  return strict && summary.counts.not_taken > 0 ? 1 : 0
}

/** The file as a text, and what became of each item. */
function importedText(system: ImportedSystem, documents: readonly Document[], options: ImportOptions) {
  const line = new ProgressLine()
  const progressed = (done: number, of: number): void => line.show(`${done} of ${of} items`, { done, of })
  try {
    const { file, ...result } = imported(system, documents, { ...options, progressed })
    line.show('writing the file')
    return { ...result, text: written(file) }
  } finally {
    line.end()
  }
}

/** An importer knows places in the documents, but not where these came from. */
function inSource<T>(source: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof StartFault) || source === '-') throw error
    throw new StartFault(`${source}: ${error.message}`)
  }
}

function timeOf(text: string): number {
  const seconds = parseTimestamp(text)
  if (seconds === undefined) throw new UsageFault(`--at is ${text}: an RFC 3339 time is needed.`)
  return seconds * 1000
}

/** Longer than any key. */
const keyFileBytesMax = 64 * 1024

const isAddress = (source: string): boolean => /^https?:\/\//i.test(source)

async function inputOf(system: ImportedSystem, source: string, keyFile: string | undefined, nowMs: number) {
  if (!isAddress(source)) return readDocuments(source, nowMs)
  if (!URL.canParse(source)) throw new UsageFault(`${source} is not the address of an API.`)
  const line = new ProgressLine()
  const api = new RemoteApi(source, system.headersFor(keyOf(system, keyFile)), ({ requests, list }) =>
    line.show([...(list === undefined ? [] : [list.name]), `${requests} requests`].join(', '), list),
  )
  const documents: Document[] = []
  try {
    for await (const document of system.ask(api)) documents.push(document)
  } catch (error) {
    throw error instanceof Unanswered ? new NoAnswer(error.message, { cause: error }) : error
  } finally {
    line.end()
  }
  return { documents, writtenAtMs: nowMs }
}

function keyOf({ keyVariable }: ImportedSystem, keyFile: string | undefined): string {
  const key = keyFile === undefined ? environment()[keyVariable] : textOf(keyFile)
  if (key === undefined || key === '')
    throw new UsageFault(`There is no key: set ${keyVariable}, or name a file that has it with --key-file.`)
  if (!/^[!-~]+$/.test(key)) throw new UsageFault('The key has characters that no key has, such as a space.')
  return key
}

function textOf(file: string): string {
  try {
    return readBounded(file, keyFileBytesMax).toString().trim()
  } catch (error) {
    throw new StartFault(`The file ${file} can't be read: ${messageOf(error)}.`)
  }
}
