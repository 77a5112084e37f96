/** Values that files name and do not hold. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  escaped,
  missingIn,
  replaced,
  strayPlaceholders,
  whyMissing,
} from '../../../src/outside/as-code/placeholders.js'
import { tempDir } from '../../harness/temp-dir.js'

t.test('variables and files are read, also within a text', async (t) => {
  const dir = tempDir(t)
  writeFileSync(join(dir, 'key.pem'), 'a key')
  const file = join(dir, 'weir.yaml')
  const read = (value: unknown) => replaced(value, file, { NAME: 'x', EMPTY: '' }, () => {})
  t.same(read({ a: [`\${env:NAME}`, `pre \${env:NAME} post`, 7, null], b: `\${file:key.pem}` }), {
    a: ['x', 'pre x post', 7, null],
    b: 'a key',
  })
  t.equal(read(`costs $\${env:NAME}`), `costs \${env:NAME}`)
  for (const [text, why] of [
    [`\${env:OTHER}`, `\${env:OTHER} is not there: the environment has no OTHER`],
    [`\${env:EMPTY}`, `\${env:EMPTY} is not there: the environment has no EMPTY`],
  ] as const)
    t.equal(whyMissing(read(text)), why)
  t.match(whyMissing(read(`\${file:none}`)), /^\$\{file:none\} is not there: ENOENT/)
  t.same(
    [...missingIn(read({ a: [{ b: `\${env:OTHER}` }] }), 'c')].map(({ place }) => place),
    ['c.a[0].b'],
  )
})

t.test('what looks like a placeholder and is none is found', async (t) => {
  for (const text of [
    `\${env:X`,
    `\${vault:x}`,
    `a \${env:A} \${b}`,
    `\${}`,
    `\${env:}`,
    `$\${env:A}\${`,
    `\${addr:game}`,
  ])
    t.same(
      [...strayPlaceholders({ a: [text] }, 'p')].map(({ place }) => place),
      ['p.a[0]'],
      text,
    )
  for (const text of [`$\${env:X`, `\${env:A}{x}`, `$\${env:A}`, '$', `$\${env:A}{b}`, '{env:A}'])
    t.same([...strayPlaceholders(text, 'p')], [], text)
  t.same([...strayPlaceholders({ hostports: [`\${addr:game}`] }, 'p')], [])
})

t.test('every text is read as it was written', async () => {
  const text = fc.oneof(fc.string(), fc.constantFrom(`\${`, `$\${`, `\${env:A}`, `$$\${file:b}`, '$'))
  fc.assert(
    fc.property(fc.array(text), (parts) => {
      const whole = parts.join('')
      const written = escaped(whole)
      return (
        replaced(written, '/nowhere/weir.yaml', {}, () => {}) === whole &&
        [...strayPlaceholders(written, '')].length === 0
      )
    }),
    { numRuns: 2_000 },
  )
})
