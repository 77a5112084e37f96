/** How many batches steps need, if one holds fewer requests than there are. */
import t from 'tap'
import { BatchWriter, type Step } from '../../../src/outside/as-code/batch-writer.js'
import { managedKinds } from '../../../src/outside/as-code/managed-kinds.js'
import { ApiError, type Client } from '../../../src/words/client/client.js'

const kind = managedKinds.find(({ name }) => name === 'ipPolicy')!
const stepOf = (name: string, requests: number): Step => ({
  kind,
  name,
  requests: Array.from({ length: requests }, () => ({
    method: 'POST',
    path: '/ip_policies',
    body: { name },
  })),
})

/** An API that takes batches of some requests, each of which costs as many bytes as its step says. */
function apiFor(held: (names: readonly string[]) => boolean) {
  const taken: string[][] = []
  const batch: Client['batch'] = async ({ requests, expected_version }) => {
    const names = requests.map(({ body }) => String((body as { name?: string }).name))
    if (!held(names))
      throw new ApiError(
        'POST /batch',
        413,
        '{"error_code":"ERR_BODY_TOO_LARGE","msg":"Split it.","details":{}}',
      )
    t.equal(expected_version, taken.length, 'that of the batch before')
    taken.push(names)
    return { results: requests.map(() => ({ status: 201, id: 'ipp_1' })), version: taken.length }
  }
  return { taken, client: { batch } as Client }
}

const writerOf = (client: Client): BatchWriter =>
  new BatchWriter(client, 0, { keep: () => {}, done: () => {}, refusalOf: (_, msg) => msg })

t.test('each step is sent once, in order, also one with more requests than others fit', async (t) => {
  // Two of these fit, or the large one alone.
  const { client, taken } = apiFor((names) => names.length <= 2 || names.every((name) => name === 'large'))
  await writerOf(client).write([stepOf('a', 1), stepOf('b', 1), stepOf('large', 5), stepOf('c', 1)])
  t.strictSame(taken, [['a', 'b'], Array.from({ length: 5 }, () => 'large'), ['c']])
})

t.test('a step that no batch holds is refused', async (t) => {
  const { client, taken } = apiFor((names) => names.length <= 2)
  await t.rejects(writerOf(client).write([stepOf('a', 1), stepOf('large', 5)]), { status_code: 413 } as never)
  t.strictSame(taken, [['a']])
})

t.test('what does not fit as a whole is not written in part', async (t) => {
  const { client, taken } = apiFor((names) => names.length <= 2)
  t.notOk(await writerOf(client).writeWhole([stepOf('a', 2), stepOf('b', 2)]))
  t.strictSame(taken, [])
})
