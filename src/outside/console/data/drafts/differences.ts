/** Differences of two resources, field by field, and of two texts, line by line. */
import { isObject, type JsonObject } from '../../../../ground/core/json-object.js'
import type { ChangedField } from '../../../../words/shape/decisions/change-schema.js'
import { textOf } from '../texts/format.js'

/** They say where and since when a resource is, not what it is. */
const ownMembers = new Set(['id', 'uri', 'created_at'])

/** Members that differ. Those of a module have dotted names, as the history has them. */
export function changedFields(before: JsonObject, after: JsonObject): ChangedField[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((name) => !ownMembers.has(name))
    .flatMap((name) => {
      const [old, next] = [before[name] ?? null, after[name] ?? null]
      if (isObject(old) && isObject(next))
        return changedFields(old, next).map((field) => ({ ...field, name: `${name}.${field.name}` }))
      if (textOf(old) === textOf(next)) return []
      return [{ name, before: old, after: next, secret: false }]
    })
}

interface DifferingLine {
  readonly sign: ' ' | '+' | '-'
  readonly text: string
}

/** Beyond so many lines on a side the whole text is shown as replaced: comparing takes lines times lines. */
const linesComparedMax = 600

/** The lines of both texts, each marked as kept, added or removed. */
export function lineDifference(before: string, after: string): DifferingLine[] {
  const [old, next] = [before, after].map((text) => (text === '' ? [] : text.split('\n'))) as [
    string[],
    string[],
  ]
  if (Math.max(old.length, next.length) > linesComparedMax) return [...marked('-', old), ...marked('+', next)]
  const common = commonLengths(old, next)
  const lines: DifferingLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length && j < next.length) {
    if (old[i] === next[j]) {
      lines.push({ sign: ' ', text: old[i]! })
      i += 1
      j += 1
    } else if (common[i + 1]![j]! >= common[i]![j + 1]!) {
      lines.push({ sign: '-', text: old[i]! })
      i += 1
    } else {
      lines.push({ sign: '+', text: next[j]! })
      j += 1
    }
  }
  return [...lines, ...marked('-', old.slice(i)), ...marked('+', next.slice(j))]
}

const marked = (sign: '+' | '-', lines: readonly string[]): DifferingLine[] =>
  lines.map((text) => ({ sign, text }))

/** How many lines the rest of both texts have in common, from each pair of places on. */
function commonLengths(old: readonly string[], next: readonly string[]): Uint16Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(next.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      lengths[i]![j] =
        old[i] === next[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
  return lengths
}
