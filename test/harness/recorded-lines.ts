/**
 * Lines that real programs wrote, with their records, in `fixtures/written-logs`: for machines without these programs. The
 * tests that run the programs write the files, with `--record`, once the records have been compared with what was sent.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const dir = 'fixtures/written-logs'

interface RecordedLine {
  /** The request or connection that was sent, in words. */
  readonly says: string
  readonly line: string
  readonly record: object
}

/** A file by its format and the name of the log. */
export function recordLines(format: string, log: string, lines: readonly RecordedLine[]): void {
  if (!process.argv.includes('--record')) return
  mkdirSync(dir, { recursive: true })
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  writeFileSync(join(dir, `${format}.${basename(log, '.log')}.jsonl`), text)
}

export const recordedLogs = () =>
  readdirSync(dir).map((file) => ({
    file,
    format: file.split('.')[0]!,
    lines: readFileSync(join(dir, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as RecordedLine),
  }))
