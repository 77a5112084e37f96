/** Regular expressions in linear time. The only file that uses re2js. */
import { RE2JS } from 're2js'
import { utf8Length } from '../core/bytes.js'
import { messageOf, ok, problem, type Result, shown } from '../core/errors.js'
import { ExpressionFailure, type StepBudget } from './run.js'

/** Text passed to `matches`: linear time is not bounded time. */
const exprMatchTextBytesMax = 1024
const exprPatternCharsMax = 1024
/** Instructions of a compiled pattern; a repetition such as `x{1000}` takes one per iteration. */
const exprPatternInstructionsMax = 500
/** A pattern that may have more is not compiled: compiling so many takes some 10 ms. */
const instructionsCompiledMax = 20_000

/** Memory bound of the automaton of one pattern; the default of re2js is 8 MiB each. */
const automatonBytesMax = 256 * 1024

/**
 * The measured cost of a match at worst: 100 ns for each character and instruction, and some 2 µs for each
 * character of even a small pattern whose automaton never fits its memory. A usual pattern takes a hundredth of that.
 */
const charInstructionsPerStep = 16
const instructionsPaidMin = 64

/** Whether the text holds a match anywhere. */
type TextMatcher = (text: string, budget: StepBudget) => boolean

/** Compiles a pattern in RE2 syntax, or says what is wrong with it. */
export function compilePattern(pattern: string): Result<TextMatcher> {
  if (pattern.length > exprPatternCharsMax) {
    return problem(`the pattern ${shown(pattern, 40)} is longer than ${exprPatternCharsMax} characters`)
  }
  if (instructionsIn(pattern) > instructionsCompiledMax) {
    const size = `more than ${exprPatternInstructionsMax} instructions`
    return problem(`the pattern ${shown(pattern, 40)} compiles to ${size}`)
  }
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(pattern)
  } catch (error) {
    const reason = messageOf(error).replace('error parsing regexp: ', '')
    return problem(`${shown(pattern)} is not a regular expression in RE2 syntax (${reason})`)
  }
  const instructions = compiled.programSize()
  if (instructions > exprPatternInstructionsMax) {
    const size = `${instructions} instructions, more than ${exprPatternInstructionsMax}`
    return problem(`the pattern ${shown(pattern, 40)} compiles to ${size}`)
  }
  boundMemory(compiled)
  const stepsPerChar = Math.max(instructions, instructionsPaidMin) / charInstructionsPerStep
  return ok((text, budget) => {
    if (text.length * 3 > exprMatchTextBytesMax && utf8Length(text) > exprMatchTextBytesMax) {
      throw new ExpressionFailure(`matches takes at most ${exprMatchTextBytesMax} bytes of text.`)
    }
    budget.take(1 + Math.ceil(text.length * stepsPerChar))
    return compiled.test(text)
  })
}

/**
 * How many instructions there will be, roughly: a thousand characters can become a million of them, which takes a second
 * before they can be counted. Of a pattern that is none, any number.
 */
function instructionsIn(pattern: string): number {
  /** The instructions before each bracket that is open. */
  const before: number[] = []
  let all = 0
  let last = 0
  for (const [part, least, most = least] of pattern.matchAll(patternParts)) {
    if (part.startsWith('(')) {
      before.push(all)
      all = 0
    } else if (part === ')') {
      last = all
      all += before.pop() ?? 0
    } else if (most !== undefined) {
      all += last * (Math.max(1, Number(most)) - 1)
    } else {
      last = 1
      all += 1
    }
  }
  return before.reduce((sum, each) => sum + each, all)
}

/** Brackets, escapes, classes, repetitions up to a thousand (more are refused), and other characters. */
const patternParts =
  /\\[pPx](?:\{[^}]*\}|.)|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|\((?:\?[^:)>]*[:>])?|\{(\d{1,4}),?(\d{1,4})?\}|[^*+?|]/gs

function boundMemory(compiled: RE2JS): void {
  const { dfa } = compiled.re2()
  dfa.stateBudget = automatonBytesMax
  dfa.memBudget = automatonBytesMax
}
