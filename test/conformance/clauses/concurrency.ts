/** Requests that come at the same time. */
import type { Chapter } from '../clause.js'
import { rulesOf } from '../questions.js'

export const concurrency: Chapter = {
  title: 'At the same time',
  clauses: [
    {
      number: 613,
      page: 'api.md#at-the-same-time',
      says: 'More large requests of an account at a time than one are answered 503 with `Retry-After`, before their body is read.',
      needs: ['writes', 'limits'],
      check: async (visit) => {
        const { id } = await visit.make('/ip_policies')
        const rules = rulesOf(
          Array.from({ length: 8_000 }, (_, at) => `allow 10.0.${at >> 8}.${at & 255}/32`),
        )
        const put = () =>
          visit.ask.put(`/ip_policies/${id}/rules?validate_only=true`, { rules }, { isFinal: true })
        const answers = await Promise.all(Array.from({ length: 8 }, put))
        const busy = answers.find(({ status }) => status === 503)
        const first = answers[0]!
        if (busy === undefined) return first.fail('503 for some of 8 large requests at the same time')
        busy
          .must(Number(busy.header('retry-after')) > 0, 'Retry-After')
          .same(busy.body.status_code, 503, 'status_code')
        return busy.must(
          answers.some(({ status }) => status === 200),
          '200 for one of them',
        )
      },
    },
    {
      number: 614,
      page: 'guarantees.md#writes-of-the-api',
      rows: ['- **Concurrent writes'],
      says: 'Of writes at the same time none is lost, and a hostport goes to one of those that want it.',
      needs: ['writes'],
      check: async (visit) => {
        const hostports = [`${visit.host('race')}:22`]
        const edges = await Promise.all(
          Array.from({ length: 5 }, () =>
            visit.ask.post('/edges/tcp', { description: visit.name('race'), hostports }),
          ),
        )
        for (const { status, body } of edges) if (status === 201) visit.willRemove(`/edges/tcp/${body.id}`)
        const statuses = edges.map(({ status }) => status).toSorted()
        edges[0]!.same(statuses, [201, 400, 400, 400, 400], 'the statuses of five creations')
        const { id } = await visit.make('/edges/tcp')
        const labels = ['metadata', 'hostports', 'policies'] as const
        const values = { metadata: 'm', hostports: [`${visit.host('raced')}:22`], policies: { inbound: [] } }
        await Promise.all(
          labels.map(async (name) =>
            (await visit.ask.patch(`/edges/tcp/${id}`, { [name]: values[name] })).is(200),
          ),
        )
        const read = (await visit.ask.get(`/edges/tcp/${id}`)).is(200)
        read.same(
          [read.body.metadata, read.body.hostports],
          ['m', values.hostports],
          'metadata and hostports',
        )
        read.must(read.body.policies !== null, 'policies')
      },
    },
  ],
}
