/**
 * What placeholders stand for, kept out of what people read. A plan may become a comment on a pull request, and whoever wrote
 * the request chose which variables and files it names. Values of files are shown as they are written, by what a difference
 * keeps; this is for the texts of the API, which repeat what it was sent, in parts, in lower case, or as a name.
 */
import { mapTexts } from '../../ground/core/json-object.js'
import { ownName } from './local-names.js'

/** Lines of PEM that are the same in every certificate and key: they tell nothing, and refusals name them. */
const armour = /-----(?:BEGIN|END) [A-Z0-9 ]+-----/g

/** Shorter values are found as words only. */
const wordCharsMax = 5
/** A refusal of an entry repeats parts of it: of a value, this much is not shown. */
const refusalRun = 6
/** Elsewhere, what is as long may be another text, such as a host of the same domain. */
const answerRun = 16
/** Shorter ones are in texts that have nothing to do with them. */
const answerCharsMin = 6

export class Concealed {
  /** Placeholders by what stands for them, in lower case. */
  readonly #pieces = new Map<string, string>()

  /** `value`: what stands for the placeholder. */
  add(value: string, placeholder: string): void {
    const bare = value.split(armour)
    const quoted = bare.map((part) => JSON.stringify(part).slice(1, -1))
    const forms = [...bare, ...quoted, ownName({ description: bare.join('') })]
    for (const text of new Set(forms.map((form) => lowered(form.trim()))))
      if (text !== '') this.#pieces.set(text, placeholder)
  }

  /** A refusal of the entry that has these placeholders. */
  refusal(text: string): string {
    return masked(text, this.#pieces, refusalRun, 1)
  }

  /** Any value of the API, or a message about all entries. */
  answer<T>(value: T): T {
    if (this.#pieces.size === 0) return value
    return mapTexts(value, (text) => masked(text, this.#pieces, answerRun, answerCharsMin))
  }

  /** What a run fails with, of the same class, because the exit code depends on it. */
  async guard<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      if (error instanceof Error) {
        const { message, details } = error as Error & { readonly details?: unknown }
        Object.assign(error, this.answer({ message, ...(details !== undefined && { details }) }))
      }
      throw error
    }
  }
}

/** Of the same length, so that places in both are the same. */
function lowered(text: string): string {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

/** A copy with placeholders for what has at least `run` characters in common with a value, or all of a shorter one. */
function masked(text: string, pieces: ReadonlyMap<string, string>, run: number, charsMin: number): string {
  const lower = lowered(text)
  const marks = new Array<string | undefined>(text.length)
  for (const [piece, placeholder] of pieces) {
    if (piece.length < charsMin) continue
    const chars = Math.min(run, piece.length)
    for (let from = 0; from + chars <= lower.length; from += 1) {
      if (!piece.includes(lower.slice(from, from + chars))) continue
      if (chars < wordCharsMax && !isWord(lower, from, from + chars)) continue
      marks.fill(placeholder, from, from + chars)
    }
  }
  // A `for` over characters would go by code points.
  return text
    .split('')
    .map((char, at) => (marks[at] === undefined ? char : marks[at] === marks[at - 1] ? '' : marks[at]))
    .join('')
}

const isLetter = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}]/u.test(char)

const isWord = (text: string, from: number, to: number): boolean =>
  !isLetter(text[from - 1]) && !isLetter(text[to])
