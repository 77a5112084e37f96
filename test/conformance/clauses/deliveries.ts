/** How events reach a web server, what becomes of those that it does not take, and what can be done about it. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { Broken, type Json, shown } from '../answer.js'
import type { Chapter } from '../clause.js'
import {
  arrivedAt,
  destinationAt,
  openTraffic,
  publish,
  several,
  signingSecret,
  statusOf,
  subscribed,
  untilArrived,
  watched,
} from '../traffic.js'

const idsOf = (records: readonly Json[]): string[] => records.map(({ record_id }) => record_id)

function mustArrive(found: readonly string[], wanted: readonly string[]): void {
  const [got, expected] = [[...new Set(found)].toSorted(), wanted.toSorted()]
  if (shown(got) !== shown(expected))
    throw new Broken('the events that came', `those of ${shown(expected)}`, shown(got))
}

export const deliveries: Chapter = {
  title: 'Deliveries',
  clauses: [
    {
      number: 1201,
      page: 'destinations.md#test-and-check',
      says: 'A test event is answered with its id once the destination accepted an event `test.v0`, else refused with the reason.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { id, path } = await destinationAt(visit, 'tested')
        const answer = (await visit.ask.post(`/event_destinations/${id}/send_test_event`)).is(200)
        const [event] = (await visit.collector).events(path)
        answer.same(
          [event?.event_id, event?.event_type],
          [answer.body.event_id, 'test.v0'],
          'the event that came',
        )
        ;(await visit.collector).replies(path, () => ({ status: 401 }))
        const refused = await visit.ask.post(`/event_destinations/${id}/send_test_event`)
        refused
          .must(refused.status === 400, 'status 400')
          .must(refused.text.includes('401'), 'the status of the server')
      },
    },
    {
      number: 1202,
      page: 'destinations/http.md#signatures',
      says: 'With `signing`, a request has the headers of Standard Webhooks, and the signature is that of its body.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { path } = await visit.once(openTraffic)
        const secret = Buffer.from(signingSecret.slice('whsec_'.length), 'base64')
        for (const { headers, body } of (await visit.collector).deliveries(path)) {
          const [id, at] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])]
          const wanted = createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest()
          const signature = Buffer.from(String(headers['webhook-signature']).replace(/^v1,/, ''), 'base64')
          const isRight = signature.length === wanted.length && timingSafeEqual(signature, wanted)
          if (!isRight)
            throw new Broken(
              'the events that came',
              'a valid webhook-signature',
              `${shown(headers)} ${shown(body)}`,
            )
          if (id !== JSON.parse(body).event_id)
            throw new Broken('the events that came', 'webhook-id is the event id', id)
        }
      },
    },
    {
      number: 1203,
      page: 'destinations/http.md',
      says: 'A request is one event (`single`), a line for each (`ndjson`) or a JSON array, with its content type, and gzip if asked for.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const collector = await visit.collector
        for (const [body, type, gzip] of [
          ['single', 'application/json', false],
          ['ndjson', 'application/x-ndjson', true],
          ['array', 'application/json', false],
        ] as const) {
          const { host, path } = await watched(visit, `body-${body}`, { body, gzip })
          const sent = several(visit, host, 3)
          ;(await publish(visit, ...sent)).is(200)
          const parsed = (text: string): Json[] =>
            body === 'array'
              ? JSON.parse(text)
              : text
                  .trim()
                  .split('\n')
                  .map((line) => JSON.parse(line))
          await visit.within(20, `3 events at ${path}`, async () => {
            const events = collector.deliveries(path).flatMap((each) => parsed(each.body))
            return events.length >= 3 ? events : undefined
          })
          for (const { headers, body: text } of collector.deliveries(path)) {
            const isRight =
              headers['content-type'] === type && (headers['content-encoding'] === 'gzip') === gzip
            if (!isRight || (body === 'single' && parsed(text).length !== 1))
              throw new Broken(
                `a request with the body ${body}`,
                `${type}${gzip ? ' with gzip' : ''}`,
                shown(headers),
              )
          }
        }
      },
    },
    {
      number: 1204,
      page: 'guarantees.md#records-and-events',
      rows: ['- **At least once, per destination', '| One destination is down'],
      says: 'Every event arrives at least once, also if a server answers 503 or hangs up; others are not held up by it.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const collector = await visit.collector
        const { host, path } = await watched(visit, 'failing')
        const other = await destinationAt(visit, 'working')
        const filter = `conn.server_name == '${host}'`
        await subscribed(visit, other.id, { type: 'tcp_connection_closed.v0', fields: ['record_id'], filter })
        let isDown = true
        collector.replies(path, () => ({ status: isDown ? 503 : 204 }))
        const sent = several(visit, host, 5)
        ;(await publish(visit, ...sent)).is(200)
        await untilArrived(visit, other.path, 5)
        mustArrive(await arrivedAt(visit, other.path), idsOf(sent))
        isDown = false
        await untilArrived(visit, path, 5, 60)
        mustArrive(await arrivedAt(visit, path), idsOf(sent))
      },
    },
    {
      number: 1205,
      page: 'destinations/http.md#what-an-answer-means',
      rows: ['- **Repeats** happen'],
      says: 'A repeat has the same `event_id` and the same bytes.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const collector = await visit.collector
        const { host, path } = await watched(visit, 'repeating')
        let refusals = 2
        collector.replies(path, () => {
          refusals -= 1
          return { status: refusals >= 0 ? 503 : 204, headers: { 'retry-after': '1' } }
        })
        ;(await publish(visit, ...several(visit, host, 1))).is(200)
        await untilArrived(visit, path, 1, 60)
        const bodies = collector.deliveries(path).map(({ body }) => body)
        if (bodies.length < 3 || new Set(bodies).size !== 1)
          throw new Broken('the requests that came', 'three, with the same body', shown(bodies))
      },
    },
    {
      number: 1206,
      page: 'api.md#dead-letters',
      says: 'An event that the server refuses by itself with 4xx becomes a dead letter with the reason; its neighbours are delivered.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, id, path } = await watched(visit, 'poisoned')
        const sent = several(visit, host, 3)
        const [, poison] = idsOf(sent)
        ;(await visit.collector).replies(path, (body) => ({ status: body.includes(poison!) ? 422 : 204 }))
        ;(await publish(visit, ...sent)).is(200)
        await untilArrived(visit, path, 2)
        mustArrive(
          await arrivedAt(visit, path),
          idsOf(sent).filter((each) => each !== poison),
        )
        const letter = await visit.within(30, 'one dead letter of the destination', async () => {
          const answer = (await visit.ask.get(`/dead_letters?type=event&destination_id=${id}`)).is(200)
          return answer.body.dead_letters[0] === undefined ? undefined : answer
        })
        visit.willRemove(`/dead_letters/${letter.body.dead_letters[0].id}`)
        const groups = (await visit.ask.get(`/dead_letters/groups?type=event&destination_id=${id}`)).is(200)
        groups.same(
          groups.body.groups.map(({ count }: Json) => count),
          [1],
          'the counts of the groups',
        )
        letter
          .same(letter.body.dead_letters.length, 1, 'the number of letters')
          .must(/422/.test(letter.body.dead_letters[0].reason), 'the status in the reason')
      },
    },
    {
      number: 1207,
      page: 'api.md#send-again-or-drop',
      says: 'A dead letter that is sent again keeps its bytes and its event id; one that is dropped is gone.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, id, path } = await watched(visit, 'resent')
        const collector = await visit.collector
        collector.replies(path, () => ({ status: 422 }))
        const sent = several(visit, host, 2)
        ;(await publish(visit, ...sent)).is(200)
        const list = () => visit.ask.get(`/dead_letters?type=event&destination_id=${id}`)
        const [first, second] = await visit.within(30, 'two dead letters', async () => {
          const { dead_letters } = (await list()).is(200).body
          return dead_letters.length === 2 ? dead_letters : undefined
        })
        collector.replies(path, () => ({ status: 204 }))
        ;(await visit.ask.delete(`/dead_letters/${first.id}`)).is(204)
        ;(await visit.ask.post(`/dead_letters/${second.id}/resend`)).must(
          visit.ask.last!.status < 300,
          'a status of success',
        )
        const [event] = await untilArrived(visit, path, 1)
        const before = collector
          .deliveries(path)
          .filter(({ status }) => status === 422)
          .map(({ body }) => JSON.parse(body))
        const same = before.find(({ event_id }) => event_id === second.event_id)
        if (shown(same) !== shown(event))
          throw new Broken('the event that was sent again', shown(same), shown(event))
        await visit.within(10, 'no dead letter is left', async () =>
          (await list()).is(200).body.dead_letters.length === 0 ? true : undefined,
        )
      },
    },
    {
      number: 1208,
      page: 'events.md#status-of-a-destination',
      says: 'The status has the state, the backlog and counts that balance: produced = delivered + dead-lettered + dropped + backlog.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, id, path } = await watched(visit, 'counted')
        ;(await publish(visit, ...several(visit, host, 4))).is(200)
        await untilArrived(visit, path, 4)
        const status = await visit.within(
          20,
          'four events are produced and delivered, and none waits',
          async () => {
            const each = await statusOf(visit, id)
            const { produced, delivered, dead_lettered, dropped } = each.counts
            const isBalanced = produced === delivered + dead_lettered + dropped + each.backlog.events
            return isBalanced && delivered === 4 && each.backlog.events === 0 ? each : undefined
          },
        )
        if (status.state !== 'healthy' || status.last_success_at === null)
          throw new Broken(
            `GET /event_destinations/${id}/status`,
            'healthy, with a last success',
            shown(status),
          )
      },
    },
    {
      number: 1209,
      page: 'events.md#status-of-a-destination',
      says: 'The counts of a subscription balance: looked at = produced + kept back by the filter.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { host, path, subscription } = await watched(visit, 'sources')
        ;(await publish(visit, ...several(visit, host, 3), ...several(visit, visit.host('others'), 2))).is(
          200,
        )
        await untilArrived(visit, path, 3)
        await visit.within(
          20,
          'looked_at = produced + kept_back, with 3 produced and 2 kept back at least',
          async () => {
            const [count] = (await visit.ask.get(`/event_subscriptions/${subscription.id}/counts`)).is(200)
              .body.counts
            const { looked_at, produced, kept_back } = count ?? {}
            return produced === 3 && kept_back >= 2 && looked_at === produced + kept_back ? count : undefined
          },
        )
      },
    },
    {
      number: 1210,
      page: 'events.md#the-last-attempts',
      says: 'The last attempts are listed, newest first, each with time, outcome and number of events.',
      needs: ['writes', 'listen'],
      check: async (visit) => {
        const { id, path, host } = await watched(visit, 'attempted')
        ;(await publish(visit, ...several(visit, host, 1))).is(200)
        await untilArrived(visit, path, 1)
        const answer = await visit.within(10, 'an attempt', async () => {
          const each = (await visit.ask.get(`/event_destinations/${id}/attempts`)).is(200)
          return each.body.attempts.length > 0 ? each : undefined
        })
        const [{ outcome, events, accepted }] = answer.body.attempts
        answer.same([outcome, events, accepted], ['delivered', 1, 1], 'the attempt')
      },
    },
  ],
}
