/**
 * The form of a line, in parts that follow each other, so that a line of another form is refused with the place where it
 * differs.
 */
import { fail, ok, type Result } from '../../../ground/core/errors.js'

interface Part {
  /** For people: `the status`. */
  readonly what: string
  /** A regular expression. Names of its groups are those of the result. */
  readonly form: string
  /** The form without what must follow it, if it looks further: for the place where another line differs. */
  readonly alone?: string
}

type Groups = Readonly<Record<string, string | undefined>>

export class LineForm {
  /** `a line of option tcplog`. */
  readonly #name: string
  readonly #parts: readonly Part[]
  readonly #whole: RegExp
  /** The first part, the first two, and so on. Made when a line is refused. */
  #beginnings: readonly RegExp[] | undefined

  constructor(name: string, parts: readonly Part[]) {
    this.#name = name
    this.#parts = parts
    this.#whole = new RegExp(`^${parts.map(({ form }) => form).join('')}$`, 's')
  }

  /** A group is undefined if the line does not have it. */
  read(line: string): Result<Groups> {
    const match = this.#whole.exec(line)
    return match === null ? this.#refusal(line) : ok(match.groups ?? {})
  }

  #refusal(line: string): Result<never> {
    this.#beginnings ??= this.#parts.map(
      (_, index) =>
        new RegExp(
          `^${this.#parts
            .slice(0, index + 1)
            .map(({ form, alone = form }) => alone)
            .join('')}`,
          's',
        ),
    )
    let column = 1
    for (const [index, { what }] of this.#parts.entries()) {
      const match = this.#beginnings[index]!.exec(line)
      // Parts begin with the space that separates them.
      const at = line[column - 1] === ' ' ? column + 1 : column
      if (match === null) return refused(`It is not ${this.#name}: ${what} is not at column ${at}.`, at)
      column = match[0].length + 1
    }
    return refused(`It is not ${this.#name}: it should end before column ${column}.`, column)
  }
}

const refused = (msg: string, column: number): Result<never> => fail({ msg, column })
