/**
 * The shapes of recent records: what their members are and how they stand in the text. Most senders write all records
 * alike, and a regular expression reads one of a known shape in a third of the time of JSON.parse, because it makes no
 * values of members that Weir ignores. A text of another shape is left to JSON.parse, with the same result.
 */
import { patternOf, type RecordPattern } from './record-pattern.js'
import type { RecordType, TrafficRecord } from './traffic-record.js'

/** Each shape is tried in turn. */
const shapesMax = 4
/**
 * V8 takes a millisecond to compile a pattern (Node 20): this bounds the cost of senders whose records are all different.
 */
const missesPerShape = 1_000

/** How many failed attempts a match makes up for; a shape without credit is forgotten. */
const creditOfMatch = 4
const creditMax = 1_000
const creditAtFirst = 100

interface Shape extends RecordPattern {
  credit: number
}

export class RecordShapes {
  /** The shape that matched last comes first. */
  readonly #shapes: Shape[] = []
  #missesUntilNext = 0

  /** The record if its shape is known; it is as unchecked as what JSON.parse gives. */
  read(text: string): TrafficRecord | undefined {
    const shapes = this.#shapes
    for (let place = 0; place < shapes.length; place += 1) {
      const shape = shapes[place]!
      const match = shape.expression.exec(text)
      if (match !== null) {
        shape.credit = Math.min(shape.credit + creditOfMatch, creditMax)
        if (place > 0) shapes.unshift(...shapes.splice(place, 1))
        return shape.recordOf(match)
      }
      shape.credit -= 1
      if (shape.credit === 0) shapes.splice(place--, 1)
    }
    return undefined
  }

  /** Tells of a valid record that `read` did not know. */
  missed(text: string, type: RecordType): void {
    if (this.#shapes.length === shapesMax || this.#missesUntilNext-- > 0) return
    this.#missesUntilNext = missesPerShape
    const pattern = patternOf(text, type)
    // Escaped names and the like: nothing would be won.
    if (pattern?.expression.test(text)) this.#shapes.unshift({ ...pattern, credit: creditAtFirst })
  }
}
