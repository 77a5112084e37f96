/** The table of values in the README of the Helm chart, from the comments of `values.yaml`. */
import { readFileSync } from 'node:fs'
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'
import { code, table } from '../../src/words/event/markdown.js'

interface Row {
  /** `nats.storage`. */
  readonly path: string
  readonly value: unknown
  readonly about: string
}

interface Described {
  readonly rows: readonly Row[]
  /** Values that no row is about. */
  readonly missing: readonly string[]
}

const mark = '--'

/** The values that a comment after `--` describes, with what is below them. */
export function describedValues(text: string): Described {
  const rows: Row[] = []
  const missing: string[] = []
  const walk = (map: YAMLMap, above: string, headComment: string | null | undefined): void => {
    map.items.forEach(({ key, value }, index) => {
      if (!isScalar(key)) throw new Error(`values.yaml has a name that is none: ${key}.`)
      const path = `${above}${key.value}`
      // The comment above a map's first member belongs to the map.
      const comment = key.commentBefore ?? (index === 0 ? headComment : undefined)
      const about = comment?.split('\n').at(-1)?.trim() ?? ''
      if (about.startsWith(mark))
        rows.push({
          path,
          value: (value as { toJSON(): unknown }).toJSON(),
          about: about.slice(mark.length).trim(),
        })
      else if (isMap(value) && value.items.length > 0) walk(value, `${path}.`, value.commentBefore)
      else missing.push(path)
    })
  }
  const { contents } = parseDocument(text)
  walk(contents as YAMLMap, '', (contents as YAMLMap).commentBefore)
  return { rows, missing }
}

/** As YAML has it on one line. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`
  if (typeof value !== 'object' || value === null) return value === '' ? '""' : String(value)
  const members = Object.entries(value).map(([name, member]) => `${name}: ${shown(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

export const chartTables = {
  values: () =>
    table(
      ['Value', 'Default', 'Meaning'],
      describedValues(readFileSync('config/helm/values.yaml', 'utf8')).rows.map(({ path, value, about }) => [
        code(path),
        code(shown(value)),
        about,
      ]),
    ),
}
