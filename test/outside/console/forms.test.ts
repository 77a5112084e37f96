/** Forms ask in words: no label is a name of the API, or says by itself that it may be left out. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

/** Members of the API that are no words outside of it. */
const jargon = new Set(['hostports', 'metadata', 'acl', 'cidr', 'principals', 'match', 'ambiguous targets'])

/** Of elements such as `<TextField label="…">`, and of declarations that have a name in the API next to it. */
const labelForms = [
  /<\w*(?:Field|Boxes|Choice)\b[^>]*?\blabel="([^"]+)"/g,
  /\bname: '[a-z_]+',\s*label: '([^']+)'/g,
]

function whyWrong(label: string): string | undefined {
  if (/_|\w\.\w/.test(label)) return 'it is written as the API writes names'
  if (/optional/i.test(label)) return 'isOptional says that'
  if (!/^[A-Z]/.test(label)) return 'it does not begin like a label'
  return jargon.has(label.toLowerCase()) ? 'it is a name of the API' : undefined
}

t.test('every label of a form is for people', (t) => {
  const sources = readdirSync('src/outside/console', { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  )
  let count = 0
  for (const name of sources) {
    const text = readFileSync(join('src/outside/console', name), 'utf8')
    for (const form of labelForms)
      for (const [, label = ''] of text.matchAll(form)) {
        count += 1
        t.equal(whyWrong(label), undefined, `${name}: ${label}`)
      }
  }
  t.ok(count >= 60, `${count} labels`)
  t.end()
})
