/** A plan in words, a line for each difference and each member. */
import type { Change } from '../../words/shape/decisions/change-schema.js'
import type { Difference, Plan } from './difference.js'

const signs = { create: '+', update: '~', replace: '!', delete: '-' } as const
const valueCharsMax = 100

/** The last change of what differs, by its id. */
export type LastChanges = ReadonlyMap<string, Pick<Change, 'changed_at' | 'by_description' | 'by'>>

export const planReport = (plan: Plan, last: LastChanges): string =>
  [...planLines(plan, last), sumsOf(plan)].join('\n')

export function planLines({ differences, others, unchecked }: Plan, last: LastChanges): string[] {
  const lines = differences.flatMap((each) => [headline(each, last), ...membersOf(each)])
  const noted = unchecked === 0 ? [] : [`${unchecked} not checked by the API, because the key may not write.`]
  return [...lines, ...noted, ...othersLines(others)]
}

export function sumsOf({ differences, unchanged }: Plan): string {
  const count = (action: Difference['action']): number =>
    differences.filter((each) => each.action === action).length
  const sums = [
    `${count('create')} to make`,
    `${count('update')} to change`,
    `${count('replace')} to replace`,
    `${count('delete')} to delete`,
    `${unchanged} as the files say`,
  ]
  return sums.join(', ')
}

export const headline = ({ action, kind, name, live }: Difference, last: LastChanges = new Map()): string => {
  const change = live === undefined ? undefined : last.get(live.id)
  const who =
    change === undefined
      ? ''
      : `  (changed last ${change.changed_at} by ${change.by_description ?? change.by})`
  return `${signs[action]} ${kind.section}  ${name}${live === undefined ? '' : `  ${live.id}`}${who}`
}

function membersOf({ action, fields, parts, refusal }: Difference): string[] {
  const refused = refusal === undefined ? [] : [`    the API would refuse it now: ${refusal}`]
  if (action === 'create' || action === 'delete') return refused
  const members = fields.map(
    ({ name, before, after }) => `    ${name}: ${briefly(before)} -> ${briefly(after)}`,
  )
  const counts = Object.entries(parts.counts).map(
    ([name, { added, changed, removed }]) =>
      `    ${name}: ${added} added, ${changed} changed, ${removed} removed`,
  )
  return [...members, ...counts, ...refused]
}

function othersLines(others: Plan['others']): string[] {
  if (others.length === 0) return []
  const bySection = new Map<string, number>()
  for (const { kind } of others) bySection.set(kind.section, (bySection.get(kind.section) ?? 0) + 1)
  const said = [...bySection].map(([section, count]) => `${count} in ${section}`)
  return [`Not described, and left as they are: ${said.join(', ')}.`]
}

function briefly(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)}…` : text
}
