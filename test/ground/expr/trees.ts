/** Checked trees of expressions, for tests of the phases behind the check. */
import { checkNames } from '../../../src/ground/expr/check.js'
import { parseExpression } from '../../../src/ground/expr/parse.js'
import { defineScope, type ScopeName } from '../../../src/ground/expr/scope.js'
import type { Tree } from '../../../src/ground/expr/tree.js'

export type Context = Readonly<Record<string, unknown>>

const named = (name: string, type: ScopeName<Context>['type']) =>
  [name, { type, read: (context: Context) => context[name] }] as const

const declared = [
  named('text', 'string'),
  named('other', 'string'),
  named('number', 'number'),
  named('flag', 'boolean'),
  named('any', 'any'),
]

export const scope = defineScope<Context>({
  names: Object.fromEntries(declared),
  aliases: { Text: 'text' },
})

export const treeOf = (text: string): Tree<Context> => checkNames(parseExpression(text), scope)

export const nameOf = (read: (context: Context) => unknown): string =>
  declared.find(([, name]) => name.read === read)![0]
