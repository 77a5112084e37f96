/**
 * A transfer that was cut leaves a last line without an end, which often still reads as an entry: `198.51.100.0/2` of
 * `198.51.100.0/24`. Such a line is refused if it lacks what every other line has. A last line without an end that is
 * like the others is fine: many programs write no end there.
 */
import { shown } from '../errors.js'

/** A line can't be compared with fewer. */
const othersMin = 2

/** Counts in a line, none of which grows when the line is cut. */
type Shape = readonly number[]

const parts: readonly string[] = ['prefix', 'digit of the prefix', 'comment', 'column', 'word']
/** So many of them, the first ones, are within the range. */
const rangeParts = 2

export class LineShapes {
  #least: Shape | undefined
  #lines = 0

  /** Counts a line that was read. A sentence if the line has no end and reads as if it had been cut. */
  whyCut(line: string, hasEnd: boolean): string | undefined {
    const shape = shapeOf(line)
    const least = this.#least
    if (!hasEnd && least !== undefined && this.#lines >= othersMin) {
      const first = isRangeWhole(line) ? rangeParts : 0
      const lost = shape.findIndex((count, index) => index >= first && count < least[index]!)
      if (lost !== -1)
        return `${shown(line, 80)} is the last line, has no end, and lacks a ${parts[lost]} that all others have: the list was cut.`
    }
    this.#lines += 1
    this.#least = least === undefined ? shape : shape.map((count, index) => Math.min(count, least[index]!))
    return undefined
  }
}

const range = /(\d{1,3}(?:\.\d{1,3}){3}|[\da-f]*:[\da-f:.]*)(?:\/(\d+))?/i
/** Something follows it. */
function isRangeWhole(line: string): boolean {
  const match = range.exec(line)
  return match !== null && match.index + match[0].length < line.length
}

const many = Number.MAX_SAFE_INTEGER

function shapeOf(line: string): Shape {
  const [, address = '', prefix] = range.exec(line) ?? []
  return [
    prefix === undefined ? 0 : 1,
    prefix !== undefined && mayBeCut(address, prefix) ? prefix.length : many,
    /[#;]/.test(line) ? 1 : 0,
    line.split(',').length,
    line.split(/\s+/).length,
  ]
}

/** Is there a longer prefix that begins like this one? */
const mayBeCut = (address: string, prefix: string): boolean =>
  Number(prefix) * 10 <= (address.includes(':') ? 128 : 32)
