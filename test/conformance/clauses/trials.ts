/** Drafts that are tried on recorded traffic. */
import { type Answer, NotChecked } from '../answer.js'
import type { Chapter } from '../clause.js'
import { connection, logged, publish } from '../traffic.js'
import type { Visit } from '../visit.js'

/** The result of a trial. An account has one at a time. */
async function tried(visit: Visit, begun: Answer): Promise<Answer> {
  if (begun.status === 429) throw new NotChecked('another trial of the account is running')
  const { id } = begun.is(202).body
  return visit.within(60, 'the trial is done', async () => {
    const answer = (await visit.ask.get(`/tries/${id}`)).is(200)
    return answer.body.state === 'done' ? answer : undefined
  })
}

export const trials: Chapter = {
  title: 'Trials',
  clauses: [
    {
      number: 1010,
      page: 'api.md#try-a-draft-on-recorded-traffic',
      says: 'A draft is tried on recorded traffic: the answer is 202 with a trial, whose result counts what would change.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('tried')
        const { id } = await visit.make('/edges/tcp', { hostports: [`${host}:22`] })
        const record = connection(visit.recordId('tried'), host)
        ;(await publish(visit, record)).is(200)
        await logged(visit, `record_id=${record.record_id}`, 1)
        const draft = { inbound: [{ name: 'nobody', actions: [{ type: 'deny' }] }] }
        const done = await tried(
          visit,
          await visit.ask.post(`/edges/tcp/${id}/policies/try?since=1m`, draft, { isFinal: true }),
        )
        done.must(done.body.decisions.changed >= 1, 'a changed decision')
        const edge = (await visit.ask.get(`/edges/tcp/${id}`)).is(200)
        edge.same(edge.body.policies, null, 'the module, which is only tried')
      },
    },
    {
      number: 1011,
      page: 'api.md#a-draft-of-the-account',
      says: 'A draft of many resources says who would lose access, and changes nothing.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('drafted')
        const edge = await visit.make('/edges/tcp', { hostports: [`${host}:22`] })
        const record = connection(visit.recordId('drafted'), host)
        ;(await publish(visit, record)).is(200)
        await logged(visit, `record_id=${record.record_id}`, 1)
        const policies = { inbound: [{ name: 'nobody', actions: [{ type: 'deny' }] }] }
        const tcp_edges = [{ id: edge.id, hostports: edge.hostports, policies }]
        const done = await tried(
          visit,
          await visit.ask.post('/tries?since=1m', { tcp_edges }, { isFinal: true }),
        )
        done.must(done.body.decisions.access.lost.records >= 1, 'a record that loses access')
        const read = (await visit.ask.get(`/edges/tcp/${edge.id}`)).is(200)
        read.same(read.body.policies, null, 'the module, which is only tried')
      },
    },
  ],
}
