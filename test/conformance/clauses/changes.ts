/** Writes that can be tried, repeated, put together, read again and undone. */
import type { Chapter } from '../clause.js'
import { policyOf, rulesOf } from '../questions.js'

const noRange = '203.0.113.1/24'

export const changes: Chapter = {
  title: 'Changes',
  clauses: [
    {
      number: 601,
      page: 'api.md#trying-a-change',
      says: '`validate_only` answers as the write would, and changes nothing.',
      check: async (visit) => {
        const description = visit.name('rehearsed')
        const made = (await visit.ask.post('/ip_policies?validate_only=true', { description })).is(201)
        ;(await visit.ask.get(`/ip_policies/${made.body.id}`)).is(404)
        const list = (await visit.ask.get(`/ip_policies?description=${encodeURIComponent(description)}`)).is(
          200,
        )
        list.same(list.body.ip_policies, [], 'the list')
        const key = (await visit.ask.post('/api_keys?validate_only=true', { description })).is(201)
        key.same(key.body.token, null, 'the token of a rehearsal')
      },
    },
    {
      number: 602,
      page: 'api.md#repeating-a-request',
      rows: ['- **A request with an idempotency key'],
      says: 'A POST with an `Idempotency-Key` is done once; a repeat gets the first status, `Location` and body.',
      needs: ['writes'],
      check: async (visit) => {
        const headers = { 'idempotency-key': visit.name('key') }
        const body = { description: visit.name('once') }
        const first = await visit.made('/ip_policies', body, headers)
        const again = (await visit.ask.post('/ip_policies', body, { headers })).is(201)
        again
          .same(again.body, first.body, 'the body')
          .same(again.header('location'), first.header('location'), 'Location')
        const list = await visit.ask.get(`/ip_policies?description=${encodeURIComponent(body.description)}`)
        list.is(200).same(list.body.ip_policies, [first.body], 'the list')
      },
    },
    {
      number: 603,
      page: 'api.md#repeating-a-request',
      says: 'Another request under a used key is refused; a key is 1 to 255 printable characters of ASCII.',
      needs: ['writes'],
      check: async (visit) => {
        const headers = { 'idempotency-key': visit.name('key') }
        await visit.made('/ip_policies', {}, headers)
        const other = await visit.ask.post('/ip_policies', { description: visit.name('other') }, { headers })
        other.refused(400, 'ERR_INVALID_REQUEST', 'Idempotency-Key')
        const long = { 'idempotency-key': 'x'.repeat(256) }
        ;(await visit.ask.post('/ip_policies', {}, { headers: long })).refused(
          400,
          'ERR_INVALID_REQUEST',
          'Idempotency-Key',
        )
      },
    },
    {
      number: 604,
      page: 'api.md#repeating-a-request',
      says: 'A refused request does not use up its key, and a repeat shows no token.',
      needs: ['writes'],
      check: async (visit) => {
        const headers = { 'idempotency-key': visit.name('key') }
        ;(await visit.ask.post('/api_keys', { rights: [] }, { headers })).is(400)
        const body = { description: visit.name('key'), rights: ['read'] }
        const first = await visit.made('/api_keys', body, headers)
        first.must(typeof first.body.token === 'string', 'a token')
        const again = (await visit.ask.post('/api_keys', body, { headers })).is(201)
        again.same([again.body.id, again.body.token], [first.body.id, null], 'id and token of the repeat')
      },
    },
    {
      number: 605,
      page: 'api.md#batches',
      says: 'A batch makes several writes together; `as` stands for the id of what a request creates.',
      needs: ['writes'],
      check: async (visit) => {
        const answer = await visit.ask.post('/batch', {
          requests: [
            { method: 'POST', path: '/ip_policies', body: { description: visit.name('batch') }, as: '#made' },
            {
              method: 'POST',
              path: '/ip_policy_rules',
              body: { ip_policy_id: '#made', cidr: '203.0.113.0/24', action: 'allow' },
            },
          ],
        })
        const [policy, rule] = answer.is(200).body.results
        visit.willRemove(`/ip_policies/${policy.id}`)
        answer
          .same([policy.status, rule.status], [201, 201], 'the statuses')
          .must(Number.isInteger(answer.body.version), 'a version')
        const read = (await visit.ask.get(`/ip_policy_rules/${rule.id}`)).is(200)
        read.same(read.body.ip_policy.id, policy.id, 'the policy of the rule')
      },
    },
    {
      number: 606,
      page: 'api.md#batches',
      says: 'If one request of a batch is refused, nothing is written, and the message says which.',
      needs: ['writes'],
      check: async (visit) => {
        const description = visit.name('batch')
        const answer = await visit.ask.post('/batch', {
          requests: [
            { method: 'POST', path: '/ip_policies', body: { description }, as: '#made' },
            {
              method: 'POST',
              path: '/ip_policy_rules',
              body: { ip_policy_id: '#made', cidr: noRange, action: 'allow' },
            },
          ],
        })
        answer.refused(400, 'ERR_INVALID_REQUEST', 'requests[1]', '"cidr"')
        const list = (await visit.ask.get(`/ip_policies?description=${encodeURIComponent(description)}`)).is(
          200,
        )
        list.same(list.body.ip_policies, [], 'the list')
      },
    },
    {
      number: 607,
      page: 'api.md#batches',
      says: 'With `expected_version`, a batch is refused with 409 if anyone has changed the account after that version.',
      needs: ['writes'],
      check: async (visit) => {
        const { version } = (await visit.ask.post('/batch', { requests: [] })).is(200).body
        await visit.make('/ip_policies')
        ;(await visit.ask.post('/batch', { requests: [], expected_version: version })).is(409)
      },
    },
    {
      number: 608,
      page: 'api.md#replace-all-rules',
      says: 'PUT of all rules is one change; the answer counts those that were added, updated, removed and kept.',
      needs: ['writes'],
      check: async (visit) => {
        const { id } = await policyOf(visit, 'allow 203.0.113.0/24', 'deny 203.0.113.66/32')
        const path = `/ip_policies/${id}/rules`
        const before =
          (await visit.ask.get(path)).is(200).body.ip_policy_rules ?? (await visit.ask.get(path)).body.rules
        const rules = rulesOf(['allow 203.0.113.0/24', 'allow 198.51.100.0/24'])
        const answer = (await visit.ask.put(path, { rules })).is(200)
        const { added, updated, removed, kept } = answer.body
        answer.same(
          { added, updated, removed, kept },
          { added: 1, updated: 0, removed: 1, kept: 1 },
          'the counts',
        )
        answer.same(before.length, 2, 'the number of rules before')
        const wrong = await visit.ask.put(path, {
          rules: rulesOf(['allow 203.0.113.0/24', `allow ${noRange}`]),
        })
        wrong.refused(400, 'ERR_INVALID_REQUEST', '"rules[1].cidr"')
      },
    },
    {
      number: 609,
      page: 'api.md#replace-all-rules',
      says: '`covers` finds the rules that contain an address, the narrowest first; `check` and `uses` say where they apply.',
      needs: ['writes'],
      check: async (visit) => {
        const { id } = await policyOf(
          visit,
          'allow 203.0.113.0/24',
          'deny 203.0.113.66/32',
          'allow 198.51.100.0/24',
        )
        const edge = await visit.make('/edges/tcp', { ip_restriction: { ip_policy_ids: [id] } })
        const covering = (await visit.ask.get(`/ip_policies/${id}/rules?covers=203.0.113.66`)).is(200)
        const found = Object.values(covering.body).find(Array.isArray) as { cidr: string }[]
        covering.same(
          found.map(({ cidr }) => cidr),
          ['203.0.113.66/32', '203.0.113.0/24'],
          'the ranges',
        )
        const uses = (await visit.ask.get(`/ip_policies/${id}/uses`)).is(200)
        uses.must(uses.text.includes(edge.id), `a use by ${edge.id}`)
        const check = (await visit.ask.get('/ip_policies/check?ip=203.0.113.66')).is(200)
        check.must(check.text.includes(edge.id), `a use by ${edge.id}`)
      },
    },
    {
      number: 610,
      page: 'api.md#changes',
      says: 'Every change is in the history, newest first: its version, verb, author and fields, also after a deletion.',
      needs: ['writes'],
      check: async (visit) => {
        const { id, description } = await visit.make('/ip_policies')
        const patched = (
          await visit.ask.patch(`/ip_policies/${id}`, { description: `${description} again` })
        ).is(200)
        ;(await visit.ask.delete(`/ip_policies/${id}`)).is(204)
        const history = (await visit.ask.get(`/ip_policies/${id}/changes`)).is(200)
        const [deleted, updated, created] = history.body.changes
        history.same([deleted.verb, updated.verb, created.verb], ['delete', 'update', 'create'], 'the verbs')
        history.must(
          deleted.version > updated.version && updated.version > created.version,
          'versions that grow',
        )
        const field = {
          name: 'description',
          before: description,
          after: `${description} again`,
          secret: false,
        }
        history.same(updated.fields, [field], 'the fields').same(updated.source, 'API', 'source')
        history.same(updated.operation_id, patched.header('operation-id'), 'operation_id')
        history.must(/^ak_/.test(updated.by), 'the key as author')
      },
    },
    {
      number: 611,
      page: 'api.md#changes',
      says: 'A resource is put back as it was at a version, also after its deletion, under its id; a token stays revoked.',
      needs: ['writes'],
      check: async (visit) => {
        const made = await visit.make('/ip_policies', { metadata: 'first' })
        const path = `/ip_policies/${made.id}`
        const { version } = (await visit.ask.get(`${path}/changes`)).is(200).body.changes[0]
        ;(await visit.ask.patch(path, { metadata: 'second' })).is(200)
        ;(await visit.ask.delete(path)).is(204)
        const back = (await visit.ask.post(`${path}/restore?version=${version}`)).is(200)
        back.same(back.body, made, 'the resource')
        const { id } = await visit.makeKey('read')
        const keyVersion = (await visit.ask.get(`/api_keys/${id}/changes`)).is(200).body.changes[0].version
        ;(await visit.ask.delete(`/api_keys/${id}`)).is(204)
        ;(await visit.ask.post(`/api_keys/${id}/restore?version=${keyVersion}`)).must(
          visit.ask.last!.status >= 400,
          'a refusal',
        )
      },
    },
    {
      number: 612,
      page: 'api.md#changes',
      says: 'A PATCH that changes nothing is no change.',
      needs: ['writes'],
      check: async (visit) => {
        const { id, description } = await visit.make('/ip_policies')
        ;(await visit.ask.patch(`/ip_policies/${id}`, { description })).is(200)
        const history = (await visit.ask.get(`/ip_policies/${id}/changes`)).is(200)
        history.same(history.body.changes.length, 1, 'the number of changes')
      },
    },
  ],
}
