/** Where an expression stands in what is edited: in YAML it is completed like one in a field of its own. */

interface ExpressionPart {
  /** Where it begins in the whole text. */
  readonly from: number
  /** The text of the expression up to the position. */
  readonly text: string
}

/** Undefined: there is none at the position. */
export type ExpressionAt = (text: string, position: number) => ExpressionPart | undefined

/** An entry of `expressions` up to the position: behind its quote, or behind the dash of a list. */
const inBrackets = /\bexpressions:\s*\[(?:[^\]]*,)?\s*(?:"((?:\\.|[^"\\])*)|'((?:''|[^'])*))$/
const behindDash = /^(\s*)-\s+(?:"((?:\\.|[^"\\])*)|'((?:''|[^'])*)|([^"'\s].*)?)$/
const listBegins = /^\s*(?:-\s+)?expressions:\s*(?:#.*)?$/

function inPolicies(yaml: string, position: number): ExpressionPart | undefined {
  const before = yaml.slice(0, position)
  const line = before.slice(before.lastIndexOf('\n') + 1)
  const found = inBrackets.exec(line) ?? (isInList(before, line) ? behindDash.exec(line) : null)
  if (found === null) return undefined
  const text = found.slice(found.length === 3 ? 1 : 2).find((each) => each !== undefined) ?? ''
  return { from: position - text.length, text }
}

/** The nearest line above that is no entry of the same list begins the list. */
function isInList(before: string, line: string): boolean {
  const above = before.slice(0, before.length - line.length).split('\n')
  const indent = /^\s*-/.exec(line)?.[0]
  const other = above.findLast(
    (each) => each.trim() !== '' && (indent === undefined || !each.startsWith(indent)),
  )
  return other !== undefined && listBegins.test(other)
}

/** By the language that is edited; YAML is that of a file of policies. */
export const expressionIn: Readonly<Record<'expression' | 'json' | 'yaml', ExpressionAt>> = {
  expression: (text, position) => ({ from: 0, text: text.slice(0, position) }),
  yaml: inPolicies,
  json: () => undefined,
}
