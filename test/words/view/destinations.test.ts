/** The destinations that delivery gets from the view and the sealed values. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Sealer } from '../../../src/ground/core/seal.js'
import { secretBelongsTo } from '../../../src/words/resource/destination-secrets.js'
import { eventDestination } from '../../../src/words/resource/event-destination.js'
import type { Row } from '../../../src/words/resource/kind/define.js'
import { DestinationConfigs, destinationConfig } from '../../../src/words/view/destinations.js'
import { rowKey } from '../../../src/words/view/keys.js'
import type { SecretsView } from '../../../src/words/view/secrets-view.js'
import { ViewState } from '../../../src/words/view/view-state.js'

const { kind } = eventDestination
const sealer = new Sealer([randomBytes(32)])
const stream = 'arn:aws:kinesis:eu-west-1:123456789012:stream/events'
const roleArn = 'arn:aws:iam::123456789012:role/weir'

const rowOf = (id: string, auth: object): Row => ({
  id,
  account_id: 'ac_1',
  version: 5,
  created_at: 0,
  target: { kinesis: { stream_arn: stream, auth } },
})

const withRole = rowOf('ed_1', { role: { role_arn: roleArn } })
const withKeys = rowOf('ed_2', { creds: { aws_access_key_id: 'AKIA' } })
const secretOf = (row: Row) => sealer.seal('wJalr', secretBelongsTo(row as never))

type Secrets = Pick<SecretsView, 'sealed'>

/** The sealed values that have arrived: all of one version. */
const secretsWith = (values: Readonly<Record<string, string>>, version = 5): SecretsView => {
  const view: Secrets = {
    sealed: (of, id, wanted, field) =>
      of === kind && field === 'sealed_secret' && version >= wanted ? values[id] : undefined,
  }
  return view as SecretsView
}

t.test('a destination as delivery uses it', async (t) => {
  const base = {
    accountId: 'ac_1',
    kind: 'kinesis',
    address: stream,
    packing: 'none',
    options: {},
    pausedAt: undefined,
  }
  const keys = { creds: { aws_access_key_id: 'AKIA', aws_secret_access_key: 'wJalr' } }
  const cases = [
    {
      name: 'a role needs no secret',
      row: withRole,
      secrets: secretsWith({}),
      want: { ...base, id: 'ed_1', auth: { role: { role_arn: roleArn } } },
    },
    {
      name: 'a pair of keys, unsealed',
      row: withKeys,
      secrets: secretsWith({ ed_2: secretOf(withKeys) }),
      want: { ...base, id: 'ed_2', auth: keys },
    },
    { name: 'a secret that has not arrived', row: withKeys, secrets: secretsWith({}), want: undefined },
    {
      name: 'a secret of an earlier version of the row',
      row: withKeys,
      secrets: secretsWith({ ed_2: secretOf(withKeys) }, 4),
      want: undefined,
    },
    {
      name: 'a destination that is packed and paused',
      row: {
        ...withRole,
        paused: { at: '2026-01-01T00:00:00.000Z' },
        target: { kinesis: { stream_arn: stream, packing: 'ndjson', auth: { role: { role_arn: roleArn } } } },
      },
      secrets: secretsWith({}),
      want: {
        ...base,
        id: 'ed_1',
        packing: 'ndjson',
        pausedAt: '2026-01-01T00:00:00.000Z',
        auth: { role: { role_arn: roleArn } },
      },
    },
    {
      name: 'members of other kinds are null',
      row: { ...withRole, target: { ...(withRole['target'] as object), firehose: null } },
      secrets: secretsWith({}),
      want: { ...base, id: 'ed_1', auth: { role: { role_arn: roleArn } } },
    },
  ]
  for (const { name, row, secrets, want } of cases)
    t.strictSame(destinationConfig(row, secrets, sealer), want, name)
})

t.test('a secret sealed for another destination or account is not opened', async (t) => {
  for (const other of [withRole, { ...withKeys, account_id: 'ac_2' }])
    t.throws(() => destinationConfig(withKeys, secretsWith({ ed_2: secretOf(other) }), sealer))
})

t.test('all destinations: present, deleted, and those whose secret is still missing', async (t) => {
  const state = new ViewState()
  const apply = (key: string, value: object | undefined) =>
    state.apply({
      key,
      revision: state.revision + 1,
      value: value === undefined ? undefined : Buffer.from(JSON.stringify(value)),
    })
  const found = (secrets = secretsWith({})) => {
    const { configs, deletedIds } = new DestinationConfigs(secrets, sealer).in(state)
    return [configs.map(({ id }) => id), deletedIds]
  }
  t.strictSame(found(), [[], []], 'nothing yet')
  for (const row of [withRole, withKeys]) apply(rowKey(kind, row.id), row)
  apply(rowKey('ip_policy', 'ipp_1'), undefined)
  t.strictSame(found(), [['ed_1'], []], 'one without its secret is neither present nor deleted')
  t.strictSame(found(secretsWith({ ed_2: secretOf(withKeys) })), [['ed_1', 'ed_2'], []])
  apply(rowKey(kind, 'ed_1'), undefined)
  t.strictSame(found(), [[], ['ed_1']])
})
