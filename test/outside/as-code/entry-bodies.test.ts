/** The bodies that entries of files describe. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { EntryBodies } from '../../../src/outside/as-code/entry-bodies.js'
import { givenFields } from '../../../src/outside/as-code/given.js'
import { LocalIds } from '../../../src/outside/as-code/local-ids.js'
import { managedKinds } from '../../../src/outside/as-code/managed-kinds.js'
import { SourceFiles } from '../../../src/outside/as-code/source-files.js'
import type { Wanted } from '../../../src/outside/as-code/wanted.js'
import { tempDir } from '../../harness/temp-dir.js'

const kind = managedKinds.find(({ name }) => name === 'eventDestination')!

t.test('a line break at the end of a file is no part of a secret, and stays elsewhere', (t) => {
  const dir = tempDir(t)
  const file = join(dir, 'weir.yaml')
  writeFileSync(
    file,
    `event_destinations:
  - description: queue
    metadata: "\${file:text}"
    target: {http: {url: 'https://queue.example/', auth: {basic: {username: weir, password: "\${file:text}"}}}}
`,
  )
  for (const text of ['s\n', 's\r\n', 's']) {
    writeFileSync(join(dir, 'text'), text)
    const files = SourceFiles.read([file], {})
    const [entry] = files.entries.get(kind.section)!
    const bodies = new EntryBodies(files, new LocalIds())
    const body = bodies.of(kind, givenFields(kind.resource), entry as unknown as Wanted)
    t.strictSame(bodies.faults, [])
    t.match(body, { metadata: text, target: { http: { auth: { basic: { password: 's' } } } } })
  }
  t.end()
})
