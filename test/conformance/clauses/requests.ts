/** What every request meets: who asks, in which version, for what, in which form; and how a refusal is said. */
import type { Answer } from '../answer.js'
import type { Chapter } from '../clause.js'
import type { Visit } from '../visit.js'

const nobody = { authorization: 'Bearer weir_nobody' }
const anonymous = { authorization: undefined }
const otherVersion = { 'service-version': '1' }
const unknownId = 'ipp_00000000000000000000000000'

/** A body that would be refused or taken, without a trace. */
const rehearse = ({ ask }: Visit, body: unknown, headers = {}): Promise<Answer> =>
  ask.post('/ip_policies?validate_only=true', body, { headers })

export const requests: Chapter = {
  title: 'Requests',
  clauses: [
    {
      number: 101,
      page: 'api.md#requests',
      says: 'A request without a valid token is refused with 401 and `WWW-Authenticate: Bearer`.',
      check: async ({ ask }) => {
        for (const headers of [anonymous, nobody]) {
          const answer = (await ask.get('/ip_policies', { headers })).refused(401, 'ERR_UNAUTHENTICATED')
          answer.same(answer.header('www-authenticate'), 'Bearer', 'WWW-Authenticate')
        }
      },
    },
    {
      number: 102,
      page: 'api.md#requests',
      says: 'A request without `Service-Version: 2` is refused with 400, which names the header.',
      check: async ({ ask }) => {
        for (const headers of [{ 'service-version': undefined }, otherVersion])
          (await ask.get('/ip_policies', { headers })).refused(400, 'ERR_VERSION', 'Service-Version')
      },
    },
    {
      number: 103,
      page: 'api.md#requests',
      says: 'Checks run in their order: token, version, path, content type, body; a refused caller learns nothing of later ones.',
      check: async (visit) => {
        const { ask } = visit
        const body = '{'
        ;(await ask.get('/nowhere', { headers: { ...nobody, ...otherVersion } })).is(401)
        ;(await ask.get('/nowhere', { headers: otherVersion })).refused(400, 'ERR_VERSION')
        ;(
          await ask.post('/nowhere?validate_only=true', body, { headers: { 'content-type': 'text/plain' } })
        ).is(404)
        ;(await rehearse(visit, body, { 'content-type': 'text/plain' })).is(415)
        ;(await rehearse(visit, body)).refused(400, 'ERR_INVALID_JSON')
      },
    },
    {
      number: 104,
      page: 'api.md#requests',
      says: 'An unknown path and a method that a path does not have are answered 404.',
      check: async ({ ask }) => {
        ;(await ask.get('/nowhere')).refused(404, 'ERR_NOT_FOUND', '/nowhere')
        ;(await ask.put('/ip_policies?validate_only=true', {})).refused(404, 'ERR_NOT_FOUND', 'PUT')
      },
    },
    {
      number: 105,
      page: 'api.md#requests',
      says: 'A body of another content type is refused with 415; `; charset=utf-8` passes.',
      check: async (visit) => {
        ;(await rehearse(visit, '{}', { 'content-type': 'text/plain' })).refused(
          415,
          'ERR_CONTENT_TYPE',
          'text/plain',
        )
        ;(await rehearse(visit, '{}', { 'content-type': 'application/json; charset=utf-8' })).is(201)
      },
    },
    {
      number: 106,
      page: 'api.md#requests',
      says: 'A body of more than 1 MiB is refused with 413.',
      needs: ['limits'],
      check: async (visit) => {
        const answer = await rehearse(visit, { description: 'x'.repeat(2 ** 20 + 1) })
        answer.is(413).same(answer.body.status_code, 413, 'status_code')
      },
    },
    {
      number: 107,
      page: 'api.md#requests',
      says: 'An unknown field is refused, and the message names it and those that are supported.',
      check: async (visit) => {
        const answer = await rehearse(visit, { descripton: 'x' })
        answer.refused(400, 'ERR_INVALID_REQUEST', '"descripton"', '"description"', '"metadata"')
      },
    },
    {
      number: 108,
      page: 'api.md#requests',
      says: 'Unknown and repeated query parameters are refused, and the message names them.',
      check: async ({ ask }) => {
        ;(await ask.get('/ip_policies?limt=3')).refused(400, 'ERR_INVALID_REQUEST', '"limt"', '"limit"')
        ;(await ask.get('/ip_policies?limit=3&limit=4')).refused(400, 'ERR_INVALID_REQUEST', '"limit"')
      },
    },
    {
      number: 109,
      page: 'api.md#requests',
      says: 'Repeated keys of JSON are refused, and the message names them.',
      check: async (visit) => {
        const answer = await rehearse(visit, '{"description": "a", "description": "b"}')
        answer.refused(400, 'ERR_INVALID_JSON', '"description"')
      },
    },
    {
      number: 110,
      page: 'api.md#requests',
      says: 'A byte order mark before a body is ignored; NUL in a text is refused with its member and place.',
      check: async (visit) => {
        ;(await rehearse(visit, '\ufeff{"description": "a"}')).is(201)
        ;(await rehearse(visit, '{"description": "a\\u0000"}')).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"description"',
          'character',
        )
      },
    },
    {
      number: 111,
      page: 'api.md#requests',
      says: 'A description has at most 255 bytes of UTF-8, metadata 4,096; the message names the field.',
      check: async (visit) => {
        ;(await rehearse(visit, { description: `${'é'.repeat(127)}x`, metadata: 'm'.repeat(4_096) })).is(201)
        ;(await rehearse(visit, { description: 'é'.repeat(128) })).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"description"',
          '255',
        )
        ;(await rehearse(visit, { metadata: 'm'.repeat(4_097) })).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"metadata"',
        )
      },
    },
    {
      number: 112,
      page: 'api.md#requests',
      says: 'A time in the past is RFC 3339 or a length of time before now: `90s`, `30m`, `24h`, `7d`.',
      check: async ({ ask }) => {
        for (const since of ['90s', '30m', '24h', '2d', new Date(Date.now() - 60_000).toISOString()])
          (await ask.get(`/changes?limit=1&since=${encodeURIComponent(since)}`)).is(200)
        ;(await ask.get('/changes?since=24x')).refused(400, 'ERR_INVALID_REQUEST', '"since"', '24x')
      },
    },
    {
      number: 113,
      page: 'api.md#requests',
      says: 'A method with a JSON content type and an empty body is a request without a body, as clients send it on DELETE.',
      needs: ['writes'],
      check: async (visit) => {
        const { id } = await visit.make('/ip_policies')
        const headers = { 'content-type': 'application/json' }
        ;(await visit.ask.delete(`/ip_policies/${id}`, { headers })).is(204)
        ;(await rehearse(visit, '')).is(201)
      },
    },
    {
      number: 114,
      page: 'api.md#requests',
      says: 'A resource is readable as soon as its write is answered.',
      needs: ['writes'],
      check: async (visit) => {
        for (let at = 0; at < 5; at += 1) {
          const made = await visit.make('/ip_policies')
          const read = (await visit.ask.get(`/ip_policies/${made.id}`)).is(200)
          read.same(read.body, made, 'the answer to GET')
        }
      },
    },
    {
      number: 115,
      page: 'api.md#errors',
      says: 'An error has exactly `error_code`, `status_code`, `msg` and `details`, an object of texts.',
      check: async ({ ask }) => {
        for (const answer of [
          await ask.get(`/ip_policies/${unknownId}`),
          await ask.get('/ip_policies?limit=0'),
        ]) {
          const { error_code, status_code, msg, details, ...others } = answer.body
          answer.same(others, {}, 'the rest of the body').same(status_code, answer.status, 'status_code')
          answer
            .must(/^ERR_[A-Z_]+$/.test(error_code), 'error_code is ERR_…')
            .must(/\.$/.test(msg), 'msg is a sentence')
          answer.must(
            Object.values(details).every((each) => typeof each === 'string'),
            'details has texts alone',
          )
        }
      },
    },
    {
      number: 116,
      page: 'api.md#errors',
      says: '`details.operation_id` of an error is also in the header `Operation-Id`, and another one each time.',
      check: async ({ ask }) => {
        const seen = new Set<string>()
        for (let at = 0; at < 3; at += 1) {
          const answer = await ask.get(`/ip_policies/${unknownId}`)
          const { operation_id } = answer.body.details
          answer.must(/^op_\w{20,}$/.test(operation_id), 'an operation id')
          answer
            .same(answer.header('operation-id'), operation_id, 'Operation-Id')
            .must(!seen.has(operation_id), 'a new id')
          seen.add(operation_id)
        }
      },
    },
    {
      number: 117,
      page: 'api.md#errors',
      says: 'A message names the field, its value and what is allowed.',
      check: async ({ ask }) => {
        ;(await ask.get('/ip_policies?limit=101')).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"limit"',
          '101',
          '1 to 100',
        )
        const hostports = ['ssh.example.com']
        const answer = await ask.post('/edges/tcp?validate_only=true', { hostports })
        answer.refused(400, 'ERR_INVALID_REQUEST', '"hostports[0]"', 'ssh.example.com', 'host:port')
      },
    },
    {
      number: 118,
      page: 'api.md#errors',
      says: 'Of several wrong entries, `details` has a sentence for each by its place, and the places of expressions.',
      check: async ({ ask }) => {
        const denies = (expression: string) => ({ expressions: [expression], actions: [{ type: 'deny' }] })
        const policies = { inbound: [denies('conn.client_prt == 2'), denies('conn.client_port == 2 &&')] }
        const answer = await ask.post('/edges/tcp?validate_only=true', { policies })
        const { details } = answer.refused(400, 'ERR_INVALID_EXPRESSION', 'conn.client_prt').body
        for (const at of [0, 1]) {
          const place = `policies.inbound[${at}].expressions[0]`
          answer.must(details[place]?.length > 0, `details has a sentence for ${place}`)
          for (const part of ['offset', 'length', 'line', 'column'])
            answer.must(/^\d+$/.test(details[`${place}.${part}`] ?? ''), `details has ${place}.${part}`)
        }
        answer.same(
          details['policies.inbound[0].expressions[0].length'],
          '15',
          'the length of conn.client_prt',
        )
      },
    },
    {
      number: 119,
      page: 'api.md#errors',
      says: 'An unknown id is 404 and named with its field; an id of another kind is 404 in a path and 400 in a body.',
      check: async ({ ask }) => {
        const rule = (ip_policy_id: string) =>
          ask.post('/ip_policy_rules?validate_only=true', {
            ip_policy_id,
            cidr: '203.0.113.7',
            action: 'allow',
          })
        ;(await ask.get(`/ip_policies/${unknownId}`)).refused(404, 'ERR_NOT_FOUND', unknownId)
        ;(await ask.get('/ip_policies/ed_00000000000000000000000000')).refused(404, 'ERR_NOT_FOUND')
        ;(await rule(unknownId)).refused(404, 'ERR_NOT_FOUND', '"ip_policy_id"', unknownId)
        ;(await rule('ed_00000000000000000000000000')).refused(
          400,
          'ERR_INVALID_REQUEST',
          '"ip_policy_id"',
          'ipp_',
        )
      },
    },
  ],
}
