/** How resources are made, shown, changed and deleted, whatever their kind. */
import type { Chapter } from '../clause.js'

const rfc3339Seconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

export const resources: Chapter = {
  title: 'Resources',
  clauses: [
    {
      number: 201,
      page: 'api.md#requests',
      says: 'A creation is answered 201 with the resource and its `Location`; a deletion 204 without a body, and 404 from then on.',
      needs: ['writes'],
      check: async (visit) => {
        const made = await visit.made('/ip_policies')
        made.same(made.header('location'), made.body.uri, 'Location')
        const path = `/ip_policies/${made.body.id}`
        const gone = (await visit.ask.delete(path)).is(204)
        gone.same(gone.text, '', 'the body')
        ;(await visit.ask.get(path)).refused(404, 'ERR_NOT_FOUND', made.body.id)
        ;(await visit.ask.delete(path)).refused(404, 'ERR_NOT_FOUND')
      },
    },
    {
      number: 202,
      page: 'api.md#lists',
      says: 'Ids have the prefix of their kind and increase, so that a list sorted by id is newest first.',
      needs: ['writes'],
      check: async (visit) => {
        const ids: string[] = []
        for (let at = 0; at < 5; at += 1) {
          const made = await visit.made('/ip_policies')
          made.must(/^ipp_\w{20,}$/.test(made.body.id), 'an id with the prefix ipp_')
          made.must(made.body.id > (ids.at(-1) ?? ''), `an id greater than ${ids.at(-1)}`)
          ids.push(made.body.id)
        }
      },
    },
    {
      number: 203,
      page: 'api.md#requests',
      says: '`uri` is absolute and ends with the path of the resource; `created_at` is RFC 3339 in UTC, in whole seconds.',
      needs: ['writes'],
      check: async (visit) => {
        const made = await visit.made('/edges/tcp')
        const { id, uri, created_at } = made.body
        made.must(
          /^https?:\/\//.test(uri) && uri.endsWith(`/edges/tcp/${id}`),
          'an absolute uri with its path',
        )
        made.must(rfc3339Seconds.test(created_at), 'created_at in whole seconds')
        made.must(
          Math.abs(Date.now() - Date.parse(created_at)) < 300_000,
          'created_at within 5 minutes of this clock',
        )
      },
    },
    {
      number: 204,
      page: 'api.md#requests',
      says: 'Unset optional texts are left out of answers; unset modules, targets and tokens are null; empty lists stay.',
      needs: ['writes'],
      check: async (visit) => {
        const edge = await visit.made('/edges/tcp')
        edge.must(!('metadata' in edge.body), 'no member metadata')
        for (const module of ['backend', 'ip_restriction', 'policies'])
          edge.same(edge.body[module], null, module)
        const policies = await visit.ask.put(`/edges/tcp/${edge.body.id}/policies`, {})
        policies.is(200).same(policies.body, { enabled: true, inbound: [], outbound: [] }, 'the module')
      },
    },
    {
      number: 205,
      page: 'api.md#requests',
      says: 'PATCH changes the fields it names; `null` or `""` clears an optional field, and a list replaces the list.',
      needs: ['writes'],
      check: async (visit) => {
        const hostports = [`${visit.host('a')}:22`, `${visit.host('b')}:22`]
        const { id, description } = await visit.make('/edges/tcp', { metadata: 'm', hostports })
        const patched = async (body: object) => (await visit.ask.patch(`/edges/tcp/${id}`, body)).is(200)
        const replaced = await patched({ hostports: [`${visit.host('c')}:22`] })
        replaced.same(replaced.body.hostports, [`${visit.host('c')}:22`], 'hostports')
        replaced.same(
          [replaced.body.metadata, replaced.body.description],
          ['m', description],
          'the other fields',
        )
        const cleared = await patched({ metadata: '' })
        cleared.must(!('metadata' in cleared.body), 'metadata is cleared')
        await patched({ metadata: 'again' })
        const nulled = await patched({ metadata: null, hostports: null })
        nulled
          .must(!('metadata' in nulled.body), 'metadata is cleared')
          .same(nulled.body.hostports, null, 'hostports')
      },
    },
    {
      number: 206,
      page: 'api.md#requests',
      says: 'A module is replaced as a whole and is enabled by default; `null` and a part of it are refused; its DELETE removes it.',
      needs: ['writes'],
      check: async (visit) => {
        const policy = await visit.make('/ip_policies')
        const { id } = await visit.make('/edges/tcp')
        const module = `/edges/tcp/${id}/ip_restriction`
        ;(await visit.ask.get(module)).refused(404, 'ERR_NOT_FOUND')
        ;(await visit.ask.delete(module)).refused(404, 'ERR_NOT_FOUND')
        const put = (await visit.ask.put(module, { ip_policy_ids: [policy.id] })).is(200)
        put.same(put.body, { enabled: true, ip_policies: [{ id: policy.id, uri: policy.uri }] }, 'the module')
        const part = await visit.ask.patch(`/edges/tcp/${id}`, { ip_restriction: { enabled: false } })
        part.refused(400, 'ERR_INVALID_REQUEST', '"ip_policy_ids"')
        ;(await visit.ask.patch(`/edges/tcp/${id}`, { ip_restriction: null })).refused(
          400,
          'ERR_INVALID_REQUEST',
        )
        const other = (await visit.ask.patch(`/edges/tcp/${id}`, { metadata: 'm' })).is(200)
        other.same(other.body.ip_restriction, put.body, 'ip_restriction, which was not named')
        ;(await visit.ask.delete(module)).is(204)
        ;(await visit.ask.get(module)).is(404)
      },
    },
    {
      number: 207,
      page: 'api.md#empty-values',
      says: 'In a creation, the empty value of an optional field means that it is not given, at any depth.',
      needs: ['writes'],
      check: async (visit) => {
        const body = {
          metadata: '',
          hostports: [],
          policies: { inbound: [{ name: '', actions: [{ type: 'deny' }] }] },
        }
        const made = await visit.made('/edges/tcp', body)
        made.must(!('metadata' in made.body), 'no metadata').same(made.body.hostports, null, 'hostports')
        const [policy] = made.body.policies.inbound
        made.must(!('name' in policy), 'no name').same(policy.expressions, [], 'expressions')
      },
    },
    {
      number: 208,
      page: 'api.md#sending-back-an-answer',
      says: 'The answer of a GET can be sent back by PATCH; a member that can not be changed is refused with another value.',
      needs: ['writes'],
      check: async (visit) => {
        const policy = await visit.make('/ip_policies')
        const ip_restriction = { ip_policy_ids: [policy.id] }
        const { id } = await visit.make('/edges/tcp', {
          hostports: [`${visit.host('back')}:22`],
          ip_restriction,
        })
        const read = (await visit.ask.get(`/edges/tcp/${id}`)).is(200)
        const sent = (await visit.ask.patch(`/edges/tcp/${id}`, read.body)).is(200)
        sent.same(sent.body, read.body, 'the answer')
        const changed = { ...read.body, id: 'edgtcp_00000000000000000000000000' }
        ;(await visit.ask.patch(`/edges/tcp/${id}`, changed)).refused(400, 'ERR_INVALID_REQUEST', '"id"')
      },
    },
    {
      number: 209,
      page: 'api.md#sending-back-an-answer',
      says: 'A POST of a whole answer makes a copy, with an id of its own.',
      needs: ['writes'],
      check: async (visit) => {
        const policy = await visit.make('/ip_policies', { metadata: 'm' })
        const copy = await visit.made('/ip_policies', policy)
        copy.must(copy.body.id !== policy.id, 'another id').same(copy.body.metadata, 'm', 'metadata')
      },
    },
  ],
}
