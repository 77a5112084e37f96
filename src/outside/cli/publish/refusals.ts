/** Lines that can't be read, and records that may be wrong: counted by reason, the first of each with its place. */
import type { Problem } from '../../../ground/core/errors.js'

/** Reasons that are counted separately; a file of another kind has one in each line. */
const reasonsMax = 20
const excerptChars = 100

interface Refusal {
  /** With the values of the first line. */
  readonly reason: string
  lines: number
  readonly first_line: number
  /** The column in the first line, counted from 1. */
  readonly column?: number
}

/** The value that a reason shows, such as `"status" is "many"; it must be …`. */
const shownValue = / is ("(?:[^"\\]|\\.)*")/

/** Where a reader stopped, or where the value stands that it refused. */
export function columnOf(line: string, { msg, column }: Problem): number | undefined {
  const shown = shownValue.exec(msg)?.[1]
  if (column !== undefined || shown === undefined) return column
  let value: string
  try {
    value = JSON.parse(shown) as string
  } catch {
    return undefined
  }
  const index = value === '' ? -1 : line.indexOf(value)
  return index === -1 ? undefined : index + 1
}

/** The same for lines that differ only in their values. */
const kindOf = (reason: string): string => reason.replace(shownValue, ' is "…"').replaceAll(/\d+/g, '0')

export class Refusals {
  readonly #byKind = new Map<string, Refusal>()
  #others = 0

  /** Is this the first line that is refused for such a reason? */
  add(line: string, number: number, problem: Problem): boolean {
    const kind = kindOf(problem.msg)
    const known = this.#byKind.get(kind)
    if (known !== undefined) known.lines += 1
    else if (this.#byKind.size === reasonsMax) this.#others += 1
    else {
      const column = columnOf(line, problem)
      const at = column === undefined ? {} : { column }
      this.#byKind.set(kind, { reason: problem.msg, lines: 1, first_line: number, ...at })
      return true
    }
    return false
  }

  /** The most frequent first. */
  get all(): readonly Refusal[] {
    const known = [...this.#byKind.values()].toSorted((a, b) => b.lines - a.lines)
    return this.#others === 0
      ? known
      : [...known, { reason: 'Other reasons.', lines: this.#others, first_line: 0 }]
  }

  /** A sentence for each reason. */
  get sentences(): readonly string[] {
    return this.all.map(({ reason, lines, first_line, column }) => {
      const place = column === undefined ? `line ${first_line}` : `line ${first_line}, column ${column}`
      const first = first_line === 0 ? '' : `, ${lines === 1 ? '' : 'the first is '}${place}`
      return `${lines} ${lines === 1 ? 'line' : 'lines'}${first}: ${reason}`
    })
  }
}

interface Doubt {
  readonly doubt: string
  records: number
  readonly first_line: number
}

/** Doubts about records whose lines can be read: something in them may be wrong, or missing. */
export class Doubts {
  readonly #bySentence = new Map<string, Doubt>()

  /** Is this the first record of which it is said? */
  add(sentence: string, line: number): boolean {
    const known = this.#bySentence.get(sentence)
    if (known !== undefined) known.records += 1
    else if (this.#bySentence.size < reasonsMax) {
      this.#bySentence.set(sentence, { doubt: sentence, records: 1, first_line: line })
      return true
    }
    return false
  }

  /** The most frequent first. */
  get all(): readonly Doubt[] {
    return [...this.#bySentence.values()].toSorted((a, b) => b.records - a.records)
  }

  get sentences(): readonly string[] {
    return this.all.map(({ doubt, records, first_line }) =>
      records === 1
        ? `1 record, of line ${first_line}: ${doubt}`
        : `${records} records, the first of line ${first_line}: ${doubt}`,
    )
  }
}

/** The part of the line around a column, and a mark below it; empty without a column. */
export function excerpt(line: string, column: number | undefined): readonly string[] {
  if (column === undefined) return []
  const start = Math.max(0, column - 1 - excerptChars / 2)
  const text = line.slice(start, start + excerptChars).replaceAll(/\p{Cc}/gu, '.')
  return [`  ${text}`, `  ${' '.repeat(column - 1 - start)}^`]
}
