/** API keys: what each right allows and refuses, how they end, and what of others they never see. */
import type { Chapter } from '../clause.js'

const record = {
  type: 'tcp_connection',
  conn: { client_ip: '203.0.113.7', server_name: 'nowhere.example', server_port: 22 },
}
const ndjson = { 'content-type': 'application/x-ndjson' }

export const keys: Chapter = {
  title: 'Keys and accounts',
  clauses: [
    {
      number: 501,
      page: 'api.md#keys-with-less-than-everything',
      says: 'The token of a key is shown once, in the answer that creates it, and null from then on.',
      needs: ['writes'],
      check: async (visit) => {
        const { id, token } = await visit.makeKey('read')
        visit.ask.last!.must(typeof token === 'string' && token.length >= 16, 'a token')
        const read = (await visit.ask.get(`/api_keys/${id}`)).is(200)
        read.same(read.body.token, null, 'token')
        const credential = await visit.made('/credentials', { acl: [`bind:${visit.host('agent')}`] })
        credential.must(typeof credential.body.token === 'string', 'a token')
        const again = (await visit.ask.get(`/credentials/${credential.body.id}`)).is(200)
        again.same(again.body.token, null, 'token')
      },
    },
    {
      number: 502,
      page: 'api.md#keys-with-less-than-everything',
      says: 'A key with the right `read` may GET, and is refused every write with 403, which names the right.',
      needs: ['writes'],
      check: async (visit) => {
        const { id, token: key } = await visit.makeKey('read')
        for (const path of ['/ip_policies', '/edges/tcp', '/changes', '/overview', '/api_keys'])
          (await visit.ask.get(path, { key })).is(200)
        const refused = await visit.ask.post('/ip_policies', { description: visit.name('refused') }, { key })
        refused.refused(403, 'ERR_FORBIDDEN', id, '"write"', 'read')
        ;(await visit.ask.post('/ip_policies?validate_only=true', {}, { key })).refused(403, 'ERR_FORBIDDEN')
        ;(await visit.ask.post('/decide', record, { key })).refused(403, 'ERR_FORBIDDEN', '"decide"')
        ;(await visit.ask.post('/records', '', { key, headers: ndjson })).refused(
          403,
          'ERR_FORBIDDEN',
          '"publish"',
        )
      },
    },
    {
      number: 503,
      page: 'api.md#keys-with-less-than-everything',
      says: 'A key with the right `write` may change everything but API keys.',
      needs: ['writes'],
      check: async (visit) => {
        const { token: key } = await visit.makeKey('write')
        ;(await visit.ask.get('/ip_policies', { key })).is(200)
        ;(await visit.ask.post('/ip_policies?validate_only=true', {}, { key })).is(201)
        ;(await visit.ask.post('/api_keys?validate_only=true', {}, { key })).refused(
          403,
          'ERR_FORBIDDEN',
          '"all"',
        )
      },
    },
    {
      number: 504,
      page: 'api.md#keys-with-less-than-everything',
      says: 'A key with the right `decide` may ask for decisions, and nothing else; rights add up.',
      needs: ['writes'],
      check: async (visit) => {
        const { token: key } = await visit.makeKey('decide')
        ;(await visit.ask.post('/decide', record, { key })).is(200)
        ;(await visit.ask.get('/ip_policies', { key })).refused(403, 'ERR_FORBIDDEN', '"read"')
        ;(await visit.ask.post('/records', '', { key, headers: ndjson })).refused(403, 'ERR_FORBIDDEN')
        const { token: both } = await visit.makeKey('decide', 'read')
        ;(await visit.ask.post('/decide', record, { key: both })).is(200)
        ;(await visit.ask.get('/ip_policies', { key: both })).is(200)
      },
    },
    {
      number: 505,
      page: 'api.md#keys-with-less-than-everything',
      says: 'A key with the right `publish` may publish records, and nothing else.',
      needs: ['writes'],
      check: async (visit) => {
        const { token: key } = await visit.makeKey('publish')
        const answer = (await visit.ask.post('/records', 'nothing', { key, headers: ndjson })).is(200)
        answer.same([answer.body.stored, answer.body.refused_count], [0, 1], 'stored and refused_count')
        ;(await visit.ask.get('/ip_policies', { key })).refused(403, 'ERR_FORBIDDEN')
        ;(await visit.ask.post('/decide', record, { key })).refused(403, 'ERR_FORBIDDEN')
      },
    },
    {
      number: 506,
      page: 'api.md#keys-with-less-than-everything',
      says: 'A request with a key that lacks the right is refused before its body is read.',
      needs: ['writes'],
      check: async (visit) => {
        const { token: key } = await visit.makeKey('read')
        ;(await visit.ask.post('/ip_policies', '{ no JSON', { key })).refused(403, 'ERR_FORBIDDEN')
      },
    },
    {
      number: 507,
      page: 'api.md#keys-with-less-than-everything',
      says: 'No rights at all, an end in the past and one in more than ten years are refused.',
      check: async ({ ask }) => {
        const rehearse = (body: object) => ask.post('/api_keys?validate_only=true', body)
        ;(await rehearse({ rights: [] })).refused(400, 'ERR_INVALID_REQUEST', '"rights"')
        ;(await rehearse({ rights: ['raed'] })).refused(400, 'ERR_INVALID_REQUEST', '"rights[0]"', '"read"')
        for (const expires_at of ['2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z'])
          (await rehearse({ expires_at })).refused(400, 'ERR_INVALID_REQUEST', '"expires_at"', expires_at)
      },
    },
    {
      number: 508,
      page: 'api.md#requests',
      says: 'A deleted key is refused within 2 s.',
      needs: ['writes'],
      check: async (visit) => {
        const { id, token: key } = await visit.makeKey('read')
        ;(await visit.ask.get('/ip_policies', { key })).is(200)
        ;(await visit.ask.delete(`/api_keys/${id}`)).is(204)
        await visit.within(2, 'the deleted key is refused', async () => {
          const answer = await visit.ask.get('/ip_policies', { key })
          return answer.status === 401 ? answer : undefined
        })
      },
    },
    {
      number: 509,
      page: 'api.md#resources',
      says: 'A key can not delete itself.',
      needs: ['writes'],
      check: async (visit) => {
        const { id, token: key } = await visit.makeKey('all')
        ;(await visit.ask.delete(`/api_keys/${id}`, { key })).refused(400, 'ERR_CONFLICT')
        ;(await visit.ask.get('/ip_policies', { key })).is(200)
      },
    },
    {
      number: 510,
      page: 'api.md#keys-with-less-than-everything',
      says: '`last_used_at` and `last_used_from` say when and from where a key was used last, null before.',
      needs: ['writes'],
      check: async (visit) => {
        const { id, token: key } = await visit.makeKey('read')
        const before = (await visit.ask.get(`/api_keys/${id}`)).is(200)
        before.same([before.body.last_used_at, before.body.last_used_from], [null, null], 'the last use')
        await visit.ask.get('/ip_policies', { key })
        await visit.within(60, 'last_used_at is set', async () => {
          const { body } = await visit.ask.get(`/api_keys/${id}`)
          return body.last_used_at === null || body.last_used_from === null ? undefined : body
        })
      },
    },
    {
      number: 511,
      page: 'api.md#requests',
      says: 'A resource of another account is an unknown id everywhere, references included.',
      needs: ['writes', 'other-key'],
      check: async (visit) => {
        const key = visit.target.otherKey ?? ''
        const { id } = await visit.make('/ip_policies')
        const path = `/ip_policies/${id}`
        for (const each of [path, `${path}/rules`, `${path}/uses`, `${path}/changes`])
          (await visit.ask.get(each, { key })).refused(404, 'ERR_NOT_FOUND', id)
        ;(await visit.ask.patch(`${path}?validate_only=true`, { metadata: 'x' }, { key })).refused(
          404,
          'ERR_NOT_FOUND',
        )
        ;(await visit.ask.delete(`${path}?validate_only=true`, { key })).refused(404, 'ERR_NOT_FOUND')
        const rule = { ip_policy_id: id, cidr: '203.0.113.7', action: 'allow' }
        const referred = await visit.ask.post('/ip_policy_rules?validate_only=true', rule, { key })
        referred.refused(404, 'ERR_NOT_FOUND', '"ip_policy_id"', id)
        const list = (
          await visit.ask.get(`/ip_policies?filter=${encodeURIComponent(`id == '${id}'`)}`, { key })
        ).is(200)
        list.same(list.body.ip_policies, [], 'the list of the other account')
      },
    },
    {
      number: 512,
      page: 'api.md#sessions-of-the-web-console',
      says: 'A key signs in to the console: a cookie that scripts can not read, which then takes the place of the key.',
      needs: ['writes'],
      check: async (visit) => {
        const { token } = await visit.makeKey('read')
        const headers = { authorization: undefined, 'service-version': undefined, 'weir-console': '1' }
        const signedIn = (await visit.ask.post('/console/session', { token }, { headers })).is(201)
        const set = signedIn.header('set-cookie')
        signedIn.must(
          /^[\w-]*weir_console=.*HttpOnly/i.test(set) && /SameSite=Strict/i.test(set),
          'a cookie of the console',
        )
        const cookie = set.split(';')[0] ?? ''
        const withCookie = { authorization: undefined, cookie }
        ;(await visit.ask.get('/ip_policies', { headers: withCookie })).is(200)
        const post = await visit.ask.post('/ip_policies?validate_only=true', {}, { headers: withCookie })
        post.is(403)
        ;(await visit.ask.delete('/console/session', { headers: { ...headers, cookie } })).is(204)
        ;(await visit.ask.get('/ip_policies', { headers: withCookie })).is(401)
      },
    },
  ],
}
