/** Pages of lists are kept for one revision of one state, and take a bounded amount of memory. */
import t from 'tap'
import { pagesByRevision } from '../../../../src/management/http/lists/lists.js'
import { ViewState } from '../../../../src/words/view/view-state.js'

t.test('pages of another revision are not found', async (t) => {
  const pagesOf = pagesByRevision()
  const state = new ViewState()
  const page = Buffer.from('page')
  const pages = pagesOf(state)
  pages.keep('a', page)
  t.equal(pagesOf(state).get('a'), page)
  t.equal(pagesOf(state).get('b'), undefined)
  state.revision += 1
  pages.keep('b', page)
  t.equal(pagesOf(state).get('a'), undefined)
  t.equal(pagesOf(state).get('b'), undefined, 'kept after the change, by a search that began before it')
  pagesOf(state).keep('a', page)
  const other = new ViewState()
  other.revision = state.revision
  t.equal(pagesOf(other).get('a'), undefined, 'nor those of another state')
  t.equal(pagesOf(state).get('a'), undefined)
})

t.test('pages take a bounded amount of memory', async (t) => {
  const pages = pagesByRevision()(new ViewState())
  const page = Buffer.alloc(100 * 1024)
  for (let count = 0; count < 11; count += 1) pages.keep(`page ${count}`, page)
  t.equal(pages.get('page 0'), undefined)
  t.equal(pages.get('page 10'), page)
  pages.keep('large', Buffer.alloc(1024 * 1024 + 1))
  t.equal(pages.get('large'), undefined)
  pages.keep('page 0', page)
  t.equal(pages.get('page 0'), page)
})
