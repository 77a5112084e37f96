/** The private parts of jexl 2.3.0 that `parse.ts` drives; the package is pinned to that version. */

declare module 'jexl/dist/grammar.js' {
  export interface Grammar {
    readonly elements: Readonly<Record<string, { readonly type: string }>>
  }
  export function getGrammar(): Grammar
}

declare module 'jexl/dist/Lexer.js' {
  import type { Grammar } from 'jexl/dist/grammar.js'

  class Lexer {
    constructor(grammar: Grammar)
    /** `raw` is the token as it was written and the white space behind it. */
    tokenize(
      text: string,
    ): { readonly type: string | undefined; readonly value: unknown; readonly raw: string }[]
  }
  export = Lexer
}

declare module 'jexl/dist/parser/Parser.js' {
  import type { Grammar } from 'jexl/dist/grammar.js'

  class Parser {
    _state: string
    readonly _subParser: Parser | null | undefined
    constructor(grammar: Grammar)
    addToken(token: unknown): unknown
    complete(): unknown
  }
  export = Parser
}
