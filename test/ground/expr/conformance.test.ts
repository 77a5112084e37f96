import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { compileExpression } from '../../../src/ground/expr/expression.js'
import { ExpressionFailure, StepBudget } from '../../../src/ground/expr/run.js'
import { defineScope, type NameType } from '../../../src/ground/expr/scope.js'

/** One case: the wanted value, or a pattern of the message with which it is refused when saved or fails when run. */
interface Case {
  readonly name: string
  readonly expression: string
  readonly want?: unknown
  readonly refused?: string
  readonly fails?: string
}

interface ScopeFile {
  readonly names: Readonly<Record<string, NameType>>
  readonly aliases: Readonly<Record<string, string>>
  readonly unavailable: Readonly<Record<string, string>>
  readonly context: object
}

const folder = 'fixtures/expressions'
const readJson = (file: string): unknown => JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))

const declared = readJson('scope.json') as ScopeFile

function readPath(context: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], context)
}

const scope = defineScope<object>({
  names: Object.fromEntries(
    Object.entries(declared.names).map(([name, type]) => {
      const path = name.split('.')
      return [name, { type, read: (context: object) => readPath(context, path) }]
    }),
  ),
  aliases: declared.aliases,
  unavailable: declared.unavailable,
})

function check(t: Test, { name, expression, want, refused, fails }: Case): void {
  const compiled = compileExpression(expression, scope)
  if (!compiled.ok) {
    const { msg } = compiled.problem
    if (refused === undefined) t.fail(`${name}: refused: ${msg}`)
    else t.match(msg, new RegExp(refused), `${name}: ${msg}`)
    return
  }
  if (refused !== undefined) {
    t.fail(`${name}: ${expression} should have been refused`)
    return
  }
  const evaluate = () => compiled.value.evaluate(declared.context, new StepBudget())
  if (fails === undefined) {
    t.strictSame(evaluate(), want, `${name}: ${expression}`)
    t.equal(
      compiled.value.isTrue(declared.context, new StepBudget()),
      Boolean(want),
      `${name}: as a condition`,
    )
  } else {
    t.throws(evaluate, { name: ExpressionFailure.name, message: new RegExp(fails) }, `${name}: ${expression}`)
  }
}

for (const file of readdirSync(folder)) {
  if (file === 'scope.json') continue
  const { about, cases } = readJson(file) as { about: string; cases: Case[] }
  t.test(`${file}: ${about}`, async (t) => {
    for (const one of cases) check(t, one)
  })
}
