import { exprBytesMax } from '../../../ground/core/limits.js'
import { documented, Type } from '../../../ground/core/schema.js'

/** Characters of an expression that fit a request line whatever they are: one takes up to 4 bytes, each percent-encoded. */
export const queryExprCharsMax = exprBytesMax / 4

/** An expression. Its users compile it and report problems. */
export const expressionSchema = Type.String({
  title: 'Expression',
  description: `An expression over the fields of a connection or event. At most ${exprBytesMax} bytes in UTF-8.`,
  ...documented({ maxLength: exprBytesMax, 'x-max-bytes': exprBytesMax }),
})

/** An expression in a query: any text of this length fits the request line. Longer ones are taken if they fit. */
export const queryExpressionSchema = (description: string) =>
  Type.String({
    description: `${description} At most ${queryExprCharsMax} characters; in ASCII, ${exprBytesMax}.`,
    ...documented({ maxLength: queryExprCharsMax }),
  })
