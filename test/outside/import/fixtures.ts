/** Answers of other systems, and what an import makes of them, as `weir plan` and `weir test` would read it. */
import { readFileSync } from 'node:fs'
import { written } from '../../../src/outside/as-code/export.js'
import type { Imported } from '../../../src/outside/import/draft/import-run.js'
import type { ReportLine } from '../../../src/outside/import/draft/item.js'
import { imported, importedSystems } from '../../../src/outside/import/import.js'

type System = 'ngrok' | 'crowdsec' | 'cloudflare-lists' | 'outpost'

export type Json = Record<string, unknown>

/** A new copy each time. */
export const answersOf = <T = Json>(system: System): T =>
  JSON.parse(readFileSync(`fixtures/imports/${system}.json`, 'utf8')) as T

const atMs = Date.parse('2026-12-01T00:00:00Z')

export const importOf = (system: System, value: unknown, awsAccount?: string, timeMs = atMs): Imported =>
  imported(importedSystems[system]!, [{ name: '', value }], { atMs: timeMs, nowMs: timeMs, awsAccount })

/** The file as a text, and without types. */
export const textOf = ({ file }: Imported): string => written(file)
export const sectionOf = ({ file }: Imported, name: string): readonly Json[] =>
  (file[name] ?? []) as readonly Json[]

export function lineAt({ report }: Pick<Imported, 'report'>, place: string): ReportLine {
  const found = report.filter((line) => line.place === place)
  if (found.length !== 1) throw new Error(`${place} has ${found.length} lines.`)
  return found[0]!
}
