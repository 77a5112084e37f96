/** Lists of ranges as people have them in files: read into rules, written from rules, compared with rules. */
import { formatCidr, parseCidr } from '../../../core/address/cidr.js'
import { csvLine, withoutCsvMarks } from '../../../core/text/csv.js'
import { momentOf, secondsText } from '../texts/moments.js'

export interface RuleEntry {
  readonly cidr: string
  readonly action: 'allow' | 'deny'
  readonly description?: string | undefined
  readonly metadata?: string | undefined
  /** RFC 3339. */
  readonly expires_at?: string | null | undefined
  readonly enforced: boolean
}

/** The range of a rule, or its list: files of rules can't have those yet, and importing one says so. */
export const rangeText = ({ cidr, list }: RangeOrList): string => cidr ?? `list ${list?.id ?? ''}`

interface RangeOrList {
  readonly cidr: string | null
  readonly list?: { readonly id: string } | null | undefined
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
 * cidr, action, description, metadata, expires_at, enforced, or those that its first line names; or JSON, as a list, as
 * `{"rules": […]}` or an object in each line. A line without an action gets the given one; one that has expired is wrong; a
 * rule is enforced unless it says `false`.
 */
export function rulesInText(text: string, action: RuleEntry['action'], nowMs: number): RulesInFile {
  const trimmed = text.replace(/^\uFEFF/, '')
  if (/^\s*(\[|\{\s*"rules")/.test(trimmed)) return checked(inJson(trimmed), action, nowMs)
  return checked(inLines(trimmed), action, nowMs)
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

const columnsDefault = ['cidr', 'action', 'description', 'metadata', 'expires_at', 'enforced'] as const
type Column = (typeof columnsDefault)[number]

function inLines(text: string): FoundInText {
  const found: Found[] = []
  const faults: FileFault[] = []
  let columns: readonly string[] = columnsDefault
  for (const { line, raw, isOpen } of recordsOf(text)) {
    const content = raw.trim()
    if (isOpen) faults.push({ line, text: `A quote is not closed within ${linesOfCellMax} lines.` })
    else if (content === '' || /^[#;]/.test(content)) continue
    else if (content.startsWith('{')) found.push(objectIn(content, line))
    else {
      const cells = /^[^#;]*,/.test(content) ? cellsOf(content) : undefined
      if (cells?.some((cell) => cell.toLowerCase() === 'cidr'))
        columns = cells.map((cell) => cell.toLowerCase())
      else if (cells === undefined) found.push(rangeIn(content, line))
      else found.push({ line, ...ofCells(cells, columns) })
    }
  }
  return { found, faults }
}

/** A cell in quotes has at most so many: descriptions are short, and one quote too many must not swallow the rest of a list. */
const linesOfCellMax = 50

interface TextRecord {
  readonly line: number
  readonly raw: string
  /** A quote is never closed: only the line with it is left out. */
  readonly isOpen: boolean
}

/** Lines; one in quotes may have line breaks. */
function* recordsOf(text: string): Generator<TextRecord> {
  const lines = text.split(/\r?\n/)
  for (let index = 0; index < lines.length; index += 1) {
    const first = lines[index]!
    // In CSV alone a quote opens something; in JSON and comments it means nothing here.
    const count = /^[^#;{]*,/.test(first) ? linesOfRecord(lines, index) : 1
    const raw = count === undefined ? first : lines.slice(index, index + count).join('\n')
    yield { line: index + 1, raw, isOpen: count === undefined }
    index += (count ?? 1) - 1
  }
}

/** How many lines the record has that begins there; undefined if a quote in it is not closed. */
function linesOfRecord(lines: readonly string[], from: number): number | undefined {
  let state: 'open' | 'closed' | 'wrong' = 'closed'
  for (let count = 1; count <= linesOfCellMax; count += 1) {
    const line = lines[from + count - 1]
    if (line === undefined) return undefined
    state = stateAfter(line, state === 'open')
    if (state !== 'open') return state === 'closed' ? count : undefined
  }
  return undefined
}

/**
 * Whether a cell in quotes is open at the end of the line. A quote opens one only where a cell begins, a doubled one in it is a
 * character, and what comes after it ends with a comma; otherwise it is wrong.
 */
function stateAfter(line: string, isOpenBefore: boolean): 'open' | 'closed' | 'wrong' {
  let isOpen = isOpenBefore
  /** Outside of quotes: before the first character of a cell, or after its last quote. */
  let place: 'begin' | 'quoted' | 'plain' = isOpen ? 'quoted' : 'begin'
  let previous = ''
  for (const char of line) {
    if (isOpen) isOpen = char !== '"'
    else if (char === ',') place = 'begin'
    else if (char === '"' && (place === 'begin' || (place === 'quoted' && previous === '"'))) {
      isOpen = true
      place = 'quoted'
    } else if (char.trim() !== '') {
      if (place === 'quoted') return 'wrong'
      place = 'plain'
    }
    previous = char
  }
  return isOpen ? 'open' : 'closed'
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
    if (cell !== '') found[name] = withoutCsvMarks(cell)
  }
  return found
}

function checked(
  { found, faults: before }: FoundInText,
  action: RuleEntry['action'],
  nowMs: number,
): RulesInFile {
  const rules: RuleEntry[] = []
  const faults = [...before]
  const lineOf = new Map<string, number>()
  for (const each of found) {
    const rule = ruleOf(each, action, nowMs)
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
function ruleOf(
  { cidr, action: given, description, metadata, expires_at, enforced = true }: Found,
  fallback: RuleEntry['action'],
  nowMs: number,
) {
  const parsed = parseCidr(cidr, { hostBits: 'refuse' })
  if (!parsed.ok) return parsed.problem.msg
  const word = given === undefined || given === '' ? fallback : String(given).toLowerCase()
  if (word !== 'allow' && word !== 'deny') return `The action is "${word}": "allow" or "deny" is needed.`
  const end = textIn(expires_at)
  const endMs = end === undefined ? Number.POSITIVE_INFINITY : momentOf(end)
  if (endMs === undefined) return `It expires at "${end}": a time such as 2026-12-31T18:00:00Z is needed.`
  if (endMs <= nowMs) return `It has expired, at ${end}.`
  const flag = String(enforced ?? true).toLowerCase()
  if (flag !== 'true' && flag !== 'false') return `"enforced" is "${flag}": "true" or "false" is needed.`
  const rule: RuleEntry = {
    cidr: formatCidr(parsed.value),
    action: word,
    description: textIn(description),
    metadata: textIn(metadata),
    expires_at: end === undefined ? undefined : secondsText(endMs),
    enforced: flag === 'true',
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
  one.enforced === other.enforced &&
  (one.description ?? '') === (other.description ?? '') &&
  (one.metadata ?? '') === (other.metadata ?? '') &&
  (one.expires_at ?? '') === (other.expires_at ?? '')

export const asNdjson = (rules: readonly RuleEntry[]): string =>
  rules
    .map(({ cidr, action, description, metadata, expires_at, enforced }) =>
      JSON.stringify({ cidr, action, description, metadata, expires_at, enforced }),
    )
    .map((line) => `${line}\n`)
    .join('')

/** For spreadsheets: nothing in it is calculated. */
export const asCsv = (rules: readonly RuleEntry[]): string =>
  [[...columnsDefault], ...rules.map((rule) => columnsDefault.map((name) => String(rule[name] ?? '')))]
    .map((cells) => `${csvLine(cells)}\r\n`)
    .join('')
