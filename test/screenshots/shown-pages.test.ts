/** A page of the console that is not among the pictures would be looked at by no one. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { packageFile } from '../../src/ground/core/package.js'
import { consolePages } from './shown-pages.js'

t.test('pictures are made of each page of the console', (t) => {
  const source = readFileSync(packageFile('src', 'outside', 'console', 'pages.ts'), 'utf8')
  const routes = [...source.matchAll(/^ {4}path: '([^']*)',$/gm)].map(([, path]) => path)
  t.ok(routes.length > 10)
  const shown = consolePages.map(({ path }) => path.replace(/^console\//, ''))
  t.strictSame(shown.toSorted(), routes.toSorted())
  t.end()
})
