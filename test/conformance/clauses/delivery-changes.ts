/** What changes a delivery: pauses, replays, subscriptions that begin, change and end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Broken, type Json, shown } from '../answer.js'
import type { Chapter } from '../clause.js'
import {
  arrivedAt,
  destinationAt,
  publish,
  several,
  statusOf,
  subscribed,
  untilArrived,
  watched,
} from '../traffic.js'

export const deliveryChanges: Chapter = {
  title: 'Changes of deliveries',
  clauses: [
    {
      number: 1301,
      page: 'events.md#pause-and-resume',
      says: 'Within 2 s of a pause nothing is sent; events wait, and come after the destination is resumed.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, id, path } = await watched(visit, 'paused')
        ;(await visit.ask.post(`/event_destinations/${id}/pause`)).is(200)
        await visit.within(2, 'the state is paused, by hand', async () => {
          const { state, cause } = await statusOf(visit, id)
          return state === 'paused' && cause === 'paused by hand' ? true : undefined
        })
        ;(await publish(visit, ...several(visit, host, 2))).is(200)
        await visit.within(20, 'two events wait', async () =>
          (await statusOf(visit, id)).backlog.events === 2 ? true : undefined,
        )
        const early = await arrivedAt(visit, path)
        if (early.length > 0) throw new Broken('a paused destination', 'no event', shown(early))
        ;(await visit.ask.post(`/event_destinations/${id}/resume`)).is(200)
        await untilArrived(visit, path, 2)
      },
    },
    {
      number: 1302,
      page: 'events.md#send-events-again',
      says: 'A replay sends the events of a past time again, with the ids that they had, and shows its progress.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, id, path } = await watched(visit, 'replayed')
        ;(await publish(visit, ...several(visit, host, 2))).is(200)
        const first = (await untilArrived(visit, path, 2)).map(({ event_id }) => event_id)
        const filter = `conn.server_name == '${host}'`
        const begun = await visit.ask.post(`/event_destinations/${id}/replay`, { from: '5m', filter })
        begun.must(
          begun.status === 200 || begun.status === 201 || begun.status === 202,
          'a status of success',
        )
        const all = await untilArrived(visit, path, 4, 60)
        const again = all.slice(2).map(({ event_id }) => event_id)
        if (shown(again.toSorted()) !== shown(first.toSorted()))
          throw new Broken('the events that were sent again', shown(first), shown(again))
        ;(await visit.ask.get(`/replays/${begun.body.id}`)).is(200)
      },
    },
    {
      number: 1303,
      page: 'guarantees.md#writes-of-the-api',
      rows: ['- **A change takes effect within 2 s**'],
      says: 'A changed filter takes effect within 2 s.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, path, subscription } = await watched(visit, 'changed')
        const source = `/event_subscriptions/${subscription.id}/sources/tcp_connection_closed.v0`
        ;(await visit.ask.patch(source, { filter: `conn.server_name == '${host}' && conn.bytes_in > 5` })).is(
          200,
        )
        await sleep(2_000)
        const [small, large] = several(visit, host, 2)
        ;(
          await publish(
            visit,
            { ...small, conn: { ...small.conn, bytes_in: 1 } },
            { ...large, conn: { ...large.conn, bytes_in: 9 } },
          )
        ).is(200)
        await untilArrived(visit, path, 1)
        const found = await arrivedAt(visit, path)
        if (shown(found) !== shown([large.record_id]))
          throw new Broken('the events that came', large.record_id, shown(found))
      },
    },
    {
      number: 1304,
      page: 'events.md#traffic-events',
      says: 'A destination that two subscriptions name gets two events of a record, with two ids.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, id, path } = await watched(visit, 'twice')
        const sources = [
          {
            type: 'tcp_connection_closed.v0',
            fields: ['record_id'],
            filter: `conn.server_name == '${host}'`,
          },
        ]
        await visit.make('/event_subscriptions', { destination_ids: [id], sources })
        ;(await publish(visit, ...several(visit, host, 1))).is(200)
        const found = await untilArrived(visit, path, 2)
        const ids = new Set(found.map(({ event_id }) => event_id))
        if (ids.size !== 2) throw new Broken('the events that came', 'two ids', shown(found))
      },
    },
    {
      number: 1305,
      page: 'events.md#traffic-events',
      says: 'A source has an address of its own, where it can be read, changed and removed; a type is there once.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { subscription } = await watched(visit, 'source')
        const path = `/event_subscriptions/${subscription.id}/sources`
        const made = (await visit.ask.post(path, { type: 'log.v0' })).is(201)
        made.must(made.body.uri.endsWith(`${path}/log.v0`), 'a uri below the subscription')
        ;(await visit.ask.post(path, { type: 'log.v0' })).must(visit.ask.last!.status === 400, 'status 400')
        const list = (await visit.ask.get(path)).is(200)
        list.same(
          list.body.sources.map(({ type }: Json) => type),
          ['tcp_connection_closed.v0', 'log.v0'],
          'the types',
        )
        ;(await visit.ask.delete(`${path}/log.v0`)).is(204)
        ;(await visit.ask.get(`${path}/log.v0`)).is(404)
      },
    },
    {
      number: 1306,
      page: 'events.md#traffic-events',
      says: 'A destination that a subscription names can not be deleted; an unknown kind of events is refused, and the known ones are named.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { id, subscription } = await watched(visit, 'named')
        ;(await visit.ask.delete(`/event_destinations/${id}`)).refused(400, 'ERR_CONFLICT', subscription.id)
        const body = { destination_ids: [id], sources: [{ type: 'nothing.v0' }] }
        const wrong = await visit.ask.post('/event_subscriptions?validate_only=true', body)
        wrong.refused(400, 'ERR_INVALID_REQUEST', 'sources[0].type', 'nothing.v0', 'log.v0')
      },
    },
    {
      number: 1307,
      page: 'events.md#a-subscription-that-starts-in-the-past',
      says: 'A subscription with `start_from` also gets the events of records that are kept.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, id, path } = await watched(visit, 'started')
        ;(await publish(visit, ...several(visit, host, 1))).is(200)
        await untilArrived(visit, path, 1)
        const sources = [
          {
            type: 'tcp_connection_closed.v0',
            fields: ['record_id', 'decision'],
            filter: `conn.server_name == '${host}'`,
          },
        ]
        const made = await visit.made('/event_subscriptions', {
          destination_ids: [id],
          sources,
          start_from: '5m',
        })
        made.same(made.body.replay_ids?.length, 1, 'the number of replays')
        const found = await untilArrived(visit, path, 2, 60)
        if (found[1].object.decision !== 'allow')
          throw new Broken('the events that came', 'one of the new subscription', shown(found))
      },
    },
    {
      number: 1308,
      page: 'events.md#operator-events',
      says: 'A change of the state of a destination is announced within seconds, with both states and advice.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const announced = await destinationAt(visit, 'announced')
        await subscribed(visit, announced.id, { type: 'event_destination_state_changed.v0' })
        const { host, id, path } = await watched(visit, 'refusing')
        ;(await visit.collector).replies(path, () => ({ status: 401 }))
        ;(await publish(visit, ...several(visit, host, 1))).is(200)
        const event = await visit.within(30, 'the event of the state', async () =>
          (await visit.collector)
            .events(announced.path)
            .find(({ object }) => object.event_destination?.id === id && object.new_state === 'paused'),
        )
        const { old_state, advice } = event.object
        if (old_state !== 'healthy' || !advice)
          throw new Broken('the event that came', 'healthy before, and advice', shown(event))
      },
    },
  ],
}
