/** The language of policies, filters and searches. */
import { type Answer, Broken, type Json } from '../answer.js'
import type { Chapter } from '../clause.js'
import { asked, log, tcp } from '../questions.js'
import type { Visit } from '../visit.js'

const perEdgeMax = 20

/** What each expression is about one connection, by the explanation of a decision. */
async function evaluated(visit: Visit, expressions: readonly string[]): Promise<Json[]> {
  const values: Json[] = []
  for (let from = 0; from < expressions.length; from += perEdgeMax) {
    const part = expressions.slice(from, from + perEdgeMax)
    const host = visit.host(`db1-${visit.recordId('e')}`)
    const inbound = part.map((expression, at) => ({
      name: `e${at}`,
      expressions: [expression],
      actions: [log({ at: String(at) })],
    }))
    const { id } = await visit.make('/edges/tcp', { hostports: [`${host}:22`], policies: { inbound } })
    const answer = await visit.within(2, 'the edge serves its name', async () => {
      const each = await asked(visit, tcp(host.toUpperCase()))
      return each.body.served ? each : undefined
    })
    values.push(...answer.body.explanation.policies)
    ;(await visit.ask.delete(`/edges/tcp/${id}`)).is(204)
  }
  return values
}

async function mustBe(visit: Visit, wanted: Readonly<Record<string, boolean>>): Promise<void> {
  const policies = await evaluated(visit, Object.keys(wanted))
  for (const [at, [expression, applies]] of Object.entries(wanted).entries()) {
    if (policies[at]?.applied === applies) continue
    const asked = `POST /decide with the policy ${expression}`
    throw new Broken(asked, `it ${applies ? 'applies' : 'does not apply'}`, JSON.stringify(policies[at]))
  }
}

const rehearsed = ({ ask }: Visit, expression: string): Promise<Answer> =>
  ask.post('/edges/tcp?validate_only=true', {
    policies: { inbound: [{ expressions: [expression], actions: [{ type: 'deny' }] }] },
  })

const refused = async (visit: Visit, expression: string, ...texts: readonly string[]): Promise<void> => {
  ;(await rehearsed(visit, expression)).refused(
    400,
    'ERR_INVALID_EXPRESSION',
    'policies.inbound[0].expressions[0]',
    ...texts,
  )
}

export const expressions: Chapter = {
  title: 'Expressions',
  clauses: [
    {
      number: 901,
      page: 'policies.md#expressions',
      says: 'Operators have the meaning that jexl gives them.',
      needs: ['writes'],
      check: (visit) =>
        mustBe(visit, {
          'conn.client_port == 4242': true,
          'conn.client_port != 4242': false,
          "conn.client_port == '4242'": true,
          'conn.client_port % 2 == 0 && conn.server_port == 22': true,
          'conn.client_port < 1024 || conn.server_port == 22': true,
          '!(conn.server_port == 22)': false,
          'conn.client_port // 100 == 42': true,
          'conn.server_port ^ 2 == 484': true,
          '2 + 3 * 4 == 14': true,
          '(2 + 3) * 4 == 20': true,
          'conn.client_port in [1, 4242]': true,
          'conn.client_port in [1, 2]': false,
          "'0.113' in conn.client_ip": true,
          "'a' + 1 == 'a1'": true,
          'conn.server_port == 22 ? conn.client_port > 4000 : false': true,
          "conn.client_ip < '204'": true,
        }),
    },
    {
      number: 902,
      page: 'policies.md#functions',
      says: 'The functions have the results that the table says, each also as a transform and as a method.',
      needs: ['writes'],
      check: (visit) =>
        mustBe(visit, {
          "conn.client_ip|inCidrRange('203.0.113.0/24')": true,
          "inCidrRange(conn.client_ip, '198.51.100.0/24')": false,
          "inCidrRanges(conn.client_ip, ['10.0.0.0/8', '203.0.113.0/25'])": true,
          "double('1.5') == 1.5": true,
          "int('22.9') == conn.server_port": true,
          "string(conn.server_port).endsWith('2')": true,
          'size(conn.client_ip) == 11': true,
          'size(conn.geo.city) == 0': true,
          "lower('AbC') == 'abc'": true,
          "upper('AbC') == 'ABC'": true,
          "conn.client_ip.startsWith('203')": true,
          "conn.client_ip|endsWith('.7')": true,
          "conn.client_ip.contains('0.113')": true,
          "['a', 'b'].contains('b')": true,
          "matches(conn.client_ip, '^203[.]0')": true,
          "conn.client_ip|matches('1{2}3')": true,
          "matches(conn.client_ip, '^0')": false,
        }),
    },
    {
      number: 903,
      page: 'policies.md#names',
      says: 'Names have their aliases; the server name is compared in lower case, without a final dot.',
      needs: ['writes'],
      check: (visit) =>
        mustBe(visit, {
          "conn.ClientIP == '203.0.113.7'": true,
          'conn.ClientPort == conn.client_port': true,
          'conn.ServerPort == 22': true,
          "conn.server_name.startsWith('DB1-')": true,
          'conn.server_name == lower(conn.server_name)': true,
          "conn.ServerName|endsWith('.EXAMPLE.')": true,
        }),
    },
    {
      number: 904,
      page: 'policies.md#differences-from-jexl',
      says: 'A name without a value is neither less nor greater than a number, equals null, and never makes a policy apply by itself.',
      needs: ['writes'],
      check: (visit) =>
        mustBe(visit, {
          'conn.server_ip == null': true,
          'conn.server_ip': false,
          'conn.geo.latitude > 0': false,
          'conn.geo.latitude <= 0': false,
          "inCidrRange(conn.server_ip, '0.0.0.0/0')": false,
        }),
    },
    {
      number: 905,
      page: 'policies.md#traffic-policies',
      says: 'An expression that fails at run time does not match; the answer warns of it.',
      needs: ['writes'],
      check: async (visit) => {
        const host = visit.host('fails')
        const inbound = [
          { name: 'no number', expressions: ['int(conn.client_ip) == 1'], actions: [{ type: 'deny' }] },
        ]
        await visit.make('/edges/tcp', { hostports: [`${host}:22`], policies: { inbound } })
        await visit.within(2, 'allow, with a warning', async () => {
          const { body } = await asked(visit, tcp(host))
          return body.decision === 'allow' && body.warnings.length > 0 ? body : undefined
        })
      },
    },
    {
      number: 906,
      page: 'policies.md#differences-from-jexl',
      says: '`&&` and `||` mixed without parentheses are refused.',
      check: async (visit) => {
        await refused(visit, 'conn.client_port == 1 && conn.server_port == 2 || conn.asn == 3', '&&', '||')
        ;(await rehearsed(visit, '(conn.client_port == 1 && conn.server_port == 2) || conn.asn == 3')).is(201)
      },
    },
    {
      number: 907,
      page: 'policies.md#differences-from-jexl',
      says: 'Unknown names are refused with the nearest known ones, and so are unknown functions and wrong numbers of arguments.',
      check: async (visit) => {
        await refused(visit, 'conn.client_prt == 1', 'conn.client_prt', 'conn.client_port')
        await refused(visit, 'lowr(conn.server_name) == 1', 'lowr', 'lower')
        await refused(visit, 'lower(conn.server_name, 2) == 1', 'lower')
        await refused(visit, 'conn.constructor == 1', 'constructor')
        await refused(visit, "conn['__proto__'] == 1")
      },
    },
    {
      number: 908,
      page: 'policies.md#differences-from-jexl',
      says: 'Unclosed brackets and missing operands are refused, and so is a range or pattern that can not be right.',
      check: async (visit) => {
        for (const expression of [
          '(conn.asn == 1',
          'conn.asn ==',
          '&& true',
          '[1, 2',
          "conn.server_name == 'a",
          '',
        ])
          await refused(visit, expression)
        await refused(visit, "inCidrRange(conn.client_ip, '10.0.0.0/33')", '10.0.0.0/33')
        await refused(visit, "matches(conn.server_name, '(a')")
        await refused(visit, "matches(conn.server_name, '(?=a)')")
      },
    },
    {
      number: 909,
      page: 'policies.md#limits',
      says: 'An expression has at most 16 KiB, 4,096 tokens and nesting 32; a policy 10 expressions, a direction 20 policies.',
      check: async (visit) => {
        const { ask } = visit
        const nested = (depth: number) => `${'('.repeat(depth)}true${')'.repeat(depth)}`
        ;(await rehearsed(visit, nested(20))).is(201)
        await refused(visit, nested(40))
        await refused(visit, `conn.server_name == '${'x'.repeat(16 * 1_024)}'`)
        await refused(visit, Array.from({ length: 2_100 }, () => '1').join(' + '))
        const rehearse = (inbound: object[]) =>
          ask.post('/edges/tcp?validate_only=true', { policies: { inbound } })
        const policy = { actions: [{ type: 'deny' }] }
        ;(await rehearse(Array.from({ length: 20 }, () => policy))).is(201)
        ;(await rehearse(Array.from({ length: 21 }, () => policy))).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"policies.inbound"',
        )
        const many = { ...policy, expressions: Array.from({ length: 11 }, () => 'true') }
        ;(await rehearse([many])).refused(400, 'ERR_INVALID_REQUEST', 'expressions')
      },
    },
    {
      number: 910,
      page: 'policies.md#traffic-policies',
      says: 'A policy has an action; `deny` is inbound only and the last one; unknown actions are refused.',
      check: async ({ ask }) => {
        const rehearse = (policies: object) => ask.post('/edges/tcp?validate_only=true', { policies })
        const cases: readonly (readonly [object, string])[] = [
          [{ inbound: [{ actions: [] }] }, 'policies.inbound[0].actions'],
          [{ outbound: [{ actions: [{ type: 'deny' }] }] }, 'policies.outbound[0].actions[0].type'],
          [{ inbound: [{ actions: [{ type: 'deny' }, log({ a: 'b' })] }] }, 'policies.inbound[0].actions[1]'],
          [{ inbound: [{ actions: [{ type: 'redirect' }] }] }, 'policies.inbound[0].actions[0].type'],
        ]
        for (const [policies, place] of cases)
          (await rehearse(policies)).refused(400, 'ERR_INVALID_REQUEST', place)
      },
    },
    {
      number: 911,
      page: 'events.md#filters',
      says: 'Filters take filterable fields, with or without `ev.`; another field is refused as not filterable.',
      needs: ['writes'],
      check: async (visit) => {
        const http = { url: `https://${visit.host('logs')}/in` }
        const { id } = await visit.make('/event_destinations', { target: { http } })
        const rehearse = (type: string, source: object) =>
          visit.ask.post('/event_subscriptions?validate_only=true', {
            destination_ids: [id],
            sources: [{ type, ...source }],
          })
        const closed = 'tcp_connection_closed.v0'
        for (const filter of ['conn.server_port == 22', "ev.decision != 'allow' && ev.conn.bytes_in > 5"])
          (await rehearse(closed, { filter })).is(201)
        const other = await rehearse(closed, { filter: "conn.start_ts == 'x'" })
        other.refused(400, 'ERR_INVALID_EXPRESSION', 'sources[0].filter', 'conn.start_ts', 'not filterable')
        ;(await rehearse('ip_policy_created.v0', { filter: 'true' })).must(
          visit.ask.last!.status === 400,
          'status 400',
        )
        const fields = await rehearse(closed, { fields: ['conn.client_ip', 'conn.nothing'] })
        fields.refused(400, 'ERR_INVALID_REQUEST', 'sources[0].fields', 'conn.nothing')
      },
    },
  ],
}
