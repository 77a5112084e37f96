/** What an ingress node may rely on over NATS. */
import { gzipSync } from 'node:zlib'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { Answer, Broken, type Json, NotChecked } from '../answer.js'
import { reasonOf } from '../asker.js'
import type { Chapter } from '../clause.js'
import { deny, policyOf, tcp } from '../questions.js'
import { connection, logged } from '../traffic.js'
import type { Visit } from '../visit.js'

const timeoutMs = 5_000
const subject = 'weir.records.conformance.node-1'

async function node(visit: Visit): Promise<NatsConnection> {
  const { host, username, password } = new URL(visit.target.natsUrl ?? '')
  const login = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  try {
    const connection = await connect({ servers: host, ...(username === '' ? {} : login), timeout: timeoutMs })
    visit.closes(() => connection.close())
    return connection
  } catch (error) {
    throw new NotChecked(`--nats: ${reasonOf(error)}`)
  }
}

/** A request and its reply, as an answer that demands can be made of. */
async function request(
  visit: Visit,
  to: string,
  body: string | Uint8Array,
  gzipped = false,
): Promise<Answer> {
  const asked = `request on ${to}: ${gzipped ? 'gzip' : body}`
  const connection = await visit.once(node)
  const encoding = headers()
  if (gzipped) encoding.set('Weir-Encoding', 'gzip')
  try {
    const reply = await connection.request(to, body, {
      timeout: timeoutMs,
      ...(gzipped ? { headers: encoding } : {}),
    })
    return new Answer(
      asked,
      { status: 200, headers: new Headers({ 'content-type': 'application/json' }) },
      reply.string(),
    )
  } catch (error) {
    throw new Broken(asked, 'a reply', `none: ${reasonOf(error)}`)
  }
}

const decide = (visit: Visit, question: Json): Promise<Answer> =>
  request(visit, 'weir.decide', JSON.stringify(question))

async function publish(visit: Visit, lines: readonly string[], gzipped = false): Promise<Answer> {
  const body = lines.join('\n')
  const answer = await request(visit, subject, gzipped ? gzipSync(body) : body, gzipped)
  return answer.must(Number.isInteger(answer.body.seq), 'an acknowledgement of JetStream')
}

async function openEdge(visit: Visit): Promise<string> {
  const host = visit.host('node')
  const policy = await policyOf(visit, 'allow 203.0.113.0/24')
  const inbound = [{ name: 'not this port', expressions: ['conn.client_port == 4444'], actions: [deny] }]
  const ip_restriction = { ip_policy_ids: [policy.id] }
  await visit.make('/edges/tcp', { hostports: [`${host}:22`], ip_restriction, policies: { inbound } })
  await visit.within(2, 'weir.decide serves the name', async () => {
    const answer = await decide(visit, tcp(host))
    return answer.body.served ? answer : undefined
  })
  return host
}

export const nats: Chapter = {
  title: 'NATS',
  clauses: [
    {
      number: 1601,
      page: 'ingress.md#ask-for-a-decision',
      says: '`weir.decide` answers `decision`, `ip_policy`, `policy`, `served`, `revision` and `warnings`.',
      needs: ['writes', 'nats'],
      check: async (visit) => {
        const host = await visit.once(openEdge)
        const allowed = await decide(visit, tcp(host))
        const members = ['decision', 'ip_policy', 'policy', 'revision', 'served', 'warnings']
        allowed.same(Object.keys(allowed.body).toSorted(), members, 'the list of members')
        allowed.same(
          [allowed.body.decision, allowed.body.ip_policy.decision],
          ['allow', 'allow'],
          'the decisions',
        )
        const blocked = await decide(visit, tcp(host, { client_ip: '198.51.100.7' }))
        blocked.same([blocked.body.decision, blocked.body.policy], ['block', null], 'decision and policy')
        const denied = await decide(visit, tcp(host, { client_port: 4_444 }))
        denied.same(
          [denied.body.decision, denied.body.policy],
          ['deny', 'not this port'],
          'decision and policy',
        )
        denied.must(Number.isInteger(denied.body.revision), 'a revision')
      },
    },
    {
      number: 1602,
      page: 'ingress.md#ask-for-a-decision',
      says: 'A name that no edge serves is not `served`, which a warning says; an ingress decides what becomes of it.',
      needs: ['writes', 'nats'],
      check: async (visit) => {
        const answer = await decide(visit, tcp(visit.host('nowhere')))
        answer.same([answer.body.served, answer.body.policy], [false, null], 'served and policy')
      },
    },
    {
      number: 1603,
      page: 'ingress.md#ask-for-a-decision',
      says: 'A request that can not be answered gets `error_code` and `msg`.',
      needs: ['nats'],
      check: async (visit) => {
        for (const body of ['no JSON', '{"type": "tcp_connection", "conn": {"client_ip": "203.0.113"}}']) {
          const answer = await request(visit, 'weir.decide', body)
          answer.must(
            /^ERR_/.test(answer.body.error_code) && answer.body.msg.length > 0,
            'error_code and msg',
          )
        }
      },
    },
    {
      number: 1604,
      page: 'ingress.md#publish-records',
      says: 'A message has a record per line, blank lines are ignored, it may be compressed with gzip, and is acknowledged.',
      needs: ['writes', 'nats'],
      check: async (visit) => {
        const host = await visit.once(openEdge)
        for (const isGzipped of [false, true]) {
          const ids = [visit.recordId('node'), visit.recordId('node')]
          const lines = ids.map((id) => JSON.stringify(connection(id, host)))
          await publish(visit, [lines[0]!, '', lines[1]!, ''], isGzipped)
          for (const id of ids) await logged(visit, `record_id=${id}`, 1)
        }
      },
    },
    {
      number: 1605,
      page: 'ingress.md#bad-records',
      rows: ['- **A bad record**'],
      says: 'A bad record becomes a dead letter with the reason and its line; the others of its message are processed.',
      needs: ['writes', 'nats'],
      check: async (visit) => {
        const host = await visit.once(openEdge)
        const good = connection(visit.recordId('good'), host)
        const bad = { ...connection(visit.recordId('bad'), host, { server_port: 'ssh' }) }
        const { account_id } = await accountOf(visit, host)
        const { seq } = (await publish(visit, [JSON.stringify(good), JSON.stringify({ ...bad, account_id })]))
          .body
        await logged(visit, `record_id=${good.record_id}`, 1)
        const letter = await visit.within(20, 'a dead letter of the message', async () => {
          const answer = (await visit.ask.get('/dead_letters?type=record&since=5m&limit=100')).is(200)
          return answer.body.dead_letters.find((each: Json) => each.sequence === seq)
        })
        visit.willRemove(`/dead_letters/${letter.id}`)
        const shown = (await visit.ask.get(`/dead_letters/${letter.id}`)).is(200)
        shown
          .same(letter.line, 2, 'the line')
          .must(/conn\.server_port.*ssh/.test(letter.reason), 'a reason with member and value')
        shown.must(shown.body.text.includes(bad.record_id), 'the original bytes')
      },
    },
    {
      number: 1606,
      page: 'ingress.md#nats-users-and-rights',
      says: 'The login of an ingress node may publish records and ask `weir.decide`, and nothing else.',
      needs: ['nats'],
      check: async (visit) => {
        const connection = await visit.once(node)
        const refused = await new Promise<string>((resolve) => {
          connection.subscribe('weir.>', {
            callback: (error) => {
              if (error !== null) resolve(error.message)
            },
          })
          setTimeout(() => resolve('nothing'), timeoutMs).unref()
        })
        if (!/permissions/i.test(refused))
          throw new Broken('a subscription to weir.>', 'a violation of permissions', refused)
        for (const forbidden of [
          'weir.audit.ip_policy.created',
          'weir.decide.agent',
          '$JS.API.STREAM.NAMES',
        ]) {
          const reply = await connection.request(forbidden, '{}', { timeout: timeoutMs }).then(
            (message) => `the reply ${message.string()}`,
            (error) => String(error.message),
          )
          if (!/permissions/i.test(reply))
            throw new Broken(`request on ${forbidden}`, 'a violation of permissions', reply)
        }
      },
    },
  ],
}

/** The account of the key, which a question about its own edge does not say: a record of it does. */
async function accountOf(visit: Visit, host: string): Promise<Json> {
  const record = connection(visit.recordId('account'), host)
  ;(
    await visit.ask.post('/records', JSON.stringify(record), {
      headers: { 'content-type': 'application/x-ndjson' },
    })
  ).is(200)
  await logged(visit, `record_id=${record.record_id}`, 1)
  return (await visit.ask.get(`/records/${record.record_id}`)).is(200).body.publications[0].record
}
