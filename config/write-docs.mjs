/** `npm run docs`: writes the generated parts of the documents, which are marked by `<!-- generated: … -->`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fieldReference } from '../dist/src/words/event/field-reference.js'
import { withTables } from '../dist/src/words/event/field-tables.js'
import { performanceTables } from '../dist/test/bench/performance-tables.js'
import { attributeTables } from '../dist/test/docs/attribute-table.js'
import { boundsTables } from '../dist/test/docs/bounds-table.js'
import { ddlTables } from '../dist/test/docs/ddl-tables.js'
import { exitTables } from '../dist/test/docs/exit-table.js'
import { writerPages } from '../dist/test/docs/writer-pages.js'

for (const name of readdirSync('docs').filter((name) => name.endsWith('.md'))) {
  const file = `docs/${name}`
  const text = readFileSync(file, 'utf8')
  const written = withTables(text, fieldReference(), {
    ...performanceTables,
    ...attributeTables,
    ...ddlTables,
    ...boundsTables,
    ...exitTables,
    ...writerPages,
  })
  if (written !== text) writeFileSync(file, written)
}
