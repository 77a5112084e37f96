/** Lists of ranges as people have them in files: read into rules, written from rules, compared with rules. */
import { formatCidr, parseCidr } from '../../core/address/cidr.js'

export interface RuleEntry {
  readonly cidr: string
  readonly action: 'allow' | 'deny'
  readonly description?: string | undefined
  readonly metadata?: string | undefined
}

/** What is wrong in a file. */
interface FileFault {
  readonly line: number
  readonly text: string
}

interface RulesInFile {
  readonly rules: readonly RuleEntry[]
  readonly faults: readonly FileFault[]
}

interface Found extends Partial<Record<keyof RuleEntry, unknown>> {
  readonly line: number
}

/**
 * Rules in a text: a range in each line, with comments after `#` or `;`, which become descriptions; CSV with the columns
 * cidr, action, description, metadata, or those that its first line names; or JSON, as a list, as `{"rules": […]}` or an
 * object in each line. A line without an action gets the given one.
 */
export function rulesInText(text: string, action: RuleEntry['action']): RulesInFile {
  const trimmed = text.replace(/^\uFEFF/, '')
  if (/^\s*(\[|\{\s*"rules")/.test(trimmed)) return checked(inJson(trimmed), action)
  return checked({ found: inLines(trimmed), faults: [] }, action)
}

interface FoundInText {
  readonly found: readonly Found[]
  readonly faults: readonly FileFault[]
}

function inJson(text: string): FoundInText {
  try {
    const value: unknown = JSON.parse(text)
    const list = Array.isArray(value) ? value : (value as { rules: unknown }).rules
    if (!Array.isArray(list)) return { found: [], faults: [{ line: 1, text: '"rules" must be a list.' }] }
    return { found: list.map((each: unknown, index) => ofJson(each, index + 1)), faults: [] }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { found: [], faults: [{ line: 1, text: `It is not JSON: ${reason}.` }] }
  }
}

const ofJson = (value: unknown, line: number): Found =>
  typeof value === 'string' ? { line, cidr: value } : { line, ...(value as object) }

const columnsDefault = ['cidr', 'action', 'description', 'metadata'] as const
type Column = (typeof columnsDefault)[number]

function inLines(text: string): Found[] {
  const found: Found[] = []
  let columns: readonly string[] = columnsDefault
  for (const { line, raw } of recordsOf(text)) {
    const content = raw.trim()
    if (content === '' || /^[#;]/.test(content)) continue
    if (content.startsWith('{')) {
      found.push(objectIn(content, line))
      continue
    }
    const cells = /^[^#;]*,/.test(content) ? cellsOf(content) : undefined
    if (cells?.some((cell) => cell.toLowerCase() === 'cidr'))
      columns = cells.map((cell) => cell.toLowerCase())
    else if (cells === undefined) found.push(rangeIn(content, line))
    else found.push({ line, ...ofCells(cells, columns) })
  }
  return found
}

/** Lines; one in quotes may have line breaks. */
function* recordsOf(text: string): Generator<{ readonly line: number; readonly raw: string }> {
  let held: { line: number; raw: string } | undefined
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    held = held === undefined ? { line: index + 1, raw } : { line: held.line, raw: `${held.raw}\n${raw}` }
    // In CSV alone a quote opens something; in JSON and comments it means nothing here.
    if (/^[^#;{]*,/.test(held.raw) && (held.raw.match(/"/g)?.length ?? 0) % 2 === 1) continue
    yield held
    held = undefined
  }
  if (held !== undefined) yield held
}

function objectIn(text: string, line: number): Found {
  try {
    return ofJson(JSON.parse(text), line)
  } catch {
    return { line, cidr: text }
  }
}

/** `203.0.113.0/24 ; why` */
function rangeIn(text: string, line: number): Found {
  const [, cidr = text, comment = ''] = /^(\S+?)\s*(?:[#;]\s*(.*))?$/.exec(text) ?? []
  return { line, cidr, ...(comment === '' ? {} : { description: comment.trim() }) }
}

const cellsOf = (text: string): string[] =>
  [...text.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
  )

function ofCells(cells: readonly string[], columns: readonly string[]): Partial<Record<Column, string>> {
  const found: Partial<Record<Column, string>> = {}
  for (const name of columnsDefault) {
    const cell = cells[columns.indexOf(name)] ?? ''
    // Weir's own files have an apostrophe before what a spreadsheet would calculate.
    if (cell !== '') found[name] = cell.replace(/^'(?=[=+\-@])/, '')
  }
  return found
}

function checked({ found, faults: before }: FoundInText, action: RuleEntry['action']): RulesInFile {
  const rules: RuleEntry[] = []
  const faults = [...before]
  const lineOf = new Map<string, number>()
  for (const each of found) {
    const rule = ruleOf(each, action)
    if (typeof rule === 'string') {
      faults.push({ line: each.line, text: rule })
      continue
    }
    const first = lineOf.get(rule.cidr)
    if (first === undefined) {
      lineOf.set(rule.cidr, each.line)
      rules.push(rule)
    } else faults.push({ line: each.line, text: `${rule.cidr} is there already: entry ${first}.` })
  }
  return { rules, faults }
}

const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** A rule, or what is wrong with it. */
function ruleOf({ cidr, action: given, description, metadata }: Found, fallback: RuleEntry['action']) {
  const parsed = parseCidr(cidr, { hostBits: 'refuse' })
  if (!parsed.ok) return parsed.problem.msg
  const word = given === undefined || given === '' ? fallback : String(given).toLowerCase()
  if (word !== 'allow' && word !== 'deny') return `The action is "${word}": "allow" or "deny" is needed.`
  const rule: RuleEntry = {
    cidr: formatCidr(parsed.value),
    action: word,
    description: textIn(description),
    metadata: textIn(metadata),
  }
  return rule
}

/** How rules differ from others. */
export interface RuleDifference {
  readonly added: readonly RuleEntry[]
  readonly removed: readonly RuleEntry[]
  readonly changed: readonly { readonly before: RuleEntry; readonly after: RuleEntry }[]
  readonly kept: number
}

export function ruleDifference(before: readonly RuleEntry[], after: readonly RuleEntry[]): RuleDifference {
  const old = new Map(before.map((rule) => [rule.cidr, rule]))
  const next = new Set(after.map(({ cidr }) => cidr))
  const added: RuleEntry[] = []
  const changed: { before: RuleEntry; after: RuleEntry }[] = []
  for (const rule of after) {
    const was = old.get(rule.cidr)
    if (was === undefined) added.push(rule)
    else if (!isSameRule(was, rule)) changed.push({ before: was, after: rule })
  }
  const removed = before.filter(({ cidr }) => !next.has(cidr))
  return { added, removed, changed, kept: after.length - added.length - changed.length }
}

const isSameRule = (one: RuleEntry, other: RuleEntry): boolean =>
  one.action === other.action &&
  (one.description ?? '') === (other.description ?? '') &&
  (one.metadata ?? '') === (other.metadata ?? '')

export const asNdjson = (rules: readonly RuleEntry[]): string =>
  rules
    .map(({ cidr, action, description, metadata }) => JSON.stringify({ cidr, action, description, metadata }))
    .map((line) => `${line}\n`)
    .join('')

/** For spreadsheets: nothing in it is calculated. */
export const asCsv = (rules: readonly RuleEntry[]): string =>
  [[...columnsDefault], ...rules.map((rule) => columnsDefault.map((name) => rule[name] ?? ''))]
    .map((cells) => `${cells.map(cellText).join(',')}\r\n`)
    .join('')

function cellText(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
