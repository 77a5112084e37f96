/** Entries of rules as texts have them, with their lines; nothing is checked. See `rule-files.ts`. */
import { withoutCsvMarks } from '../../../../ground/core/text/csv.js'

export interface FileFault {
  readonly line: number
  readonly text: string
}

/** Columns of a line of CSV, unless its first line names others. One that is added goes last: files have no names. */
export const ruleColumns = [
  'cidr',
  'action',
  'description',
  'metadata',
  'expires_at',
  'enforced',
  'list_id',
] as const

type Column = (typeof ruleColumns)[number]

export interface FoundEntry extends Partial<Record<Column, unknown>> {
  readonly line: number
}

export interface FoundInText {
  readonly found: readonly FoundEntry[]
  readonly faults: readonly FileFault[]
}

/** A list, or `{"rules": […]}`. */
export function entriesInJson(text: string): FoundInText {
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

/** Responses of the API name a list by a reference. */
function ofJson(value: unknown, line: number): FoundEntry {
  if (typeof value === 'string') return { line, cidr: value }
  const { list, ...entry } = (value ?? {}) as Omit<FoundEntry, 'line'> & {
    readonly list?: { id?: unknown } | null
  }
  return { list_id: list?.id, ...entry, line }
}

/** A range, an object or cells in each line. */
export function entriesInLines(text: string): FoundInText {
  const found: FoundEntry[] = []
  const faults: FileFault[] = []
  let columns: readonly string[] = ruleColumns
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

/**
 * A cell in quotes has at most so many: descriptions are short, and one quote too many must not swallow the rest of a list.
 */
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
 * Whether a cell in quotes is open at the end of the line. A quote opens one only where a cell begins, a doubled one in it
 * is a character, and what comes after it ends with a comma; otherwise it is wrong.
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

function objectIn(text: string, line: number): FoundEntry {
  try {
    return ofJson(JSON.parse(text), line)
  } catch {
    return { line, cidr: text }
  }
}

/** `203.0.113.0/24 ; why` */
function rangeIn(text: string, line: number): FoundEntry {
  const [, cidr = text, comment = ''] = /^(\S+?)\s*(?:[#;]\s*(.*))?$/.exec(text) ?? []
  return { line, cidr, ...(comment === '' ? {} : { description: comment.trim() }) }
}

const cellsOf = (text: string): string[] =>
  // With a comma in front of each: of an empty match at the beginning, the next would lack its own.
  [...`,${text}`.matchAll(/,\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))/g)].map(([, quoted, plain]) =>
    (quoted?.replaceAll('""', '"') ?? plain ?? '').trim(),
  )

function ofCells(cells: readonly string[], columns: readonly string[]): Partial<Record<Column, string>> {
  const found: Partial<Record<Column, string>> = {}
  for (const name of ruleColumns) {
    const cell = cells[columns.indexOf(name)] ?? ''
    if (cell !== '') found[name] = withoutCsvMarks(cell)
  }
  return found
}
