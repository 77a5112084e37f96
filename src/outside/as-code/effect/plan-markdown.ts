/** A plan as a comment on a pull request: bounded, and without markup or mentions of others. */

import type { Plan } from '../difference.js'
import { type LastChanges, planLines, sumsOf } from '../plan-report.js'
import { type Effect, effectSections } from './effect-report.js'
import { type Line, markdownLine, type Section } from './report-lines.js'

/** A comment on GitHub has 65,536 characters at most; some are more than a byte. */
const commentBytesMax = 60_000
/** By this, the job finds the comment that it wrote before. */
const mark = '<!-- weir plan -->'

export function planMarkdown(plan: Plan, last: LastChanges, effect: Effect): string {
  const sections = [...effectSections(effect, plan.nameOf), differences(plan, last)]
  const head = [mark, '### Weir', '', sumsOf(plan), '']
  return fitted(head, sections)
}

const differences = (plan: Plan, last: LastChanges): Section => ({
  title: 'Differences',
  lines: planLines(plan, last).map((text): Line => [{ given: text.trim() }]),
})

/** As many lines as fit; the rest is counted. What matters most comes first. */
function fitted(head: readonly string[], sections: readonly Section[]): string {
  const lines = [...head]
  let bytes = Buffer.byteLength(lines.join('\n'))
  let leftOut = 0
  const add = (text: string): void => {
    bytes += Buffer.byteLength(text) + 1
    if (bytes <= commentBytesMax) lines.push(text)
    else leftOut += 1
  }
  for (const { title, lines: items } of sections) {
    if (items.length === 0) continue
    if (leftOut === 0) for (const text of [`#### ${title}`, '']) lines.push(text)
    for (const item of items) add(`- ${markdownLine(item)}`)
    if (leftOut === 0) lines.push('')
  }
  if (leftOut > 0)
    lines.push('', `${leftOut.toLocaleString('en-US')} more lines do not fit: \`weir plan\` shows them.`)
  return `${lines.join('\n').trimEnd()}\n`
}
