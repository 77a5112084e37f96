import { exprBytesMax } from '../core/limits.js'
import { documented, Type } from '../core/schema.js'

/** An expression. Its users compile it and report problems. */
export const expressionSchema = Type.String({
  title: 'Expression',
  description: `An expression over the fields of a connection or event. At most ${exprBytesMax} bytes in UTF-8.`,
  ...documented({ maxLength: exprBytesMax, 'x-max-bytes': exprBytesMax }),
})
