/** Paths of routes: which are taken, and which belong to another route of the edge. */
import t from 'tap'
import { compileCheck } from '../../../src/ground/core/schema-check.js'
import { httpsEdgeRoute } from '../../../src/words/resource/https-edge.js'
import { lookupsIn, refusalOf } from './lookups.js'

t.test('paths', async (t) => {
  const check = compileCheck(httpsEdgeRoute.fields.match.schema)
  for (const path of ['/', '/docs', '/docs/', '/%20', '/ü']) t.equal(check(path, 'match'), undefined, path)
  for (const path of ['', 'docs', '/a?b', '/a#b', '/a b', '/a\t', `/${'x'.repeat(1024)}`])
    t.type(check(path, 'match'), 'string', path.slice(0, 20))
})

t.test('a path belongs to one route of its edge', async (t) => {
  const other = { id: 'edghtsrt_1', match_type: 'path_prefix', match: '/docs' }
  const cases: [name: string, route: object, isFree: boolean][] = [
    ['another path', { match: '/doc' }, true],
    ['below it', { match: '/docs/a' }, true],
    ['the same', { match: '/docs' }, false],
    ['the same, with a slash at its end', { match: '/docs/' }, false],
    ['the same, but exact', { match: '/docs', match_type: 'exact_path' }, true],
    ['in another letter case', { match: '/Docs' }, true],
    ['itself', { match: '/docs', id: other.id }, true],
  ]
  for (const [name, route, isFree] of cases) {
    const row = { id: 'edghtsrt_2', edge_id: 'edghts_1', match_type: 'path_prefix', ...route }
    const lookups = lookupsIn({ https_edge_route: [other] })
    const refusal = refusalOf(() => httpsEdgeRoute.check?.(row as never, undefined, lookups))
    if (isFree) t.equal(refusal, undefined, name)
    else t.match(refusal, /the route edghtsrt_1 of the same edge/, name)
  }
})
