/**
 * `npm run docs`: writes the generated parts of the documents, which are marked by `<!-- generated: … -->`, and what
 * `weir nats-config` prints into the Helm chart.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { natsConfig } from '../dist/src/delivery/nats-server/nats-config.js'
import { fieldReference } from '../dist/src/words/event/field-reference.js'
import { withTables } from '../dist/src/words/event/field-tables.js'
import { performanceTables } from '../dist/test/bench/performance-tables.js'
import { chaosTables } from '../dist/test/chaos/results.js'
import { clauseTables } from '../dist/test/conformance/clause-table.js'
import { attributeTables } from '../dist/test/docs/attribute-table.js'
import { boundsTables } from '../dist/test/docs/bounds-table.js'
import { chartTables } from '../dist/test/docs/chart-table.js'
import { ddlTables } from '../dist/test/docs/ddl-tables.js'
import { exitTables } from '../dist/test/docs/exit-table.js'
import { writerPages } from '../dist/test/docs/writer-pages.js'

const pages = readdirSync('docs')
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
for (const file of [...pages, 'config/helm/README.md']) {
  const text = readFileSync(file, 'utf8')
  const written = withTables(text, fieldReference(), {
    ...performanceTables,
    ...chaosTables,
    ...attributeTables,
    ...clauseTables,
    ...ddlTables,
    ...boundsTables,
    ...chartTables,
    ...exitTables,
    ...writerPages,
  })
  if (written !== text) writeFileSync(file, written)
}
writeFileSync('config/helm/files/nats-accounts.conf', natsConfig(1, 1))
