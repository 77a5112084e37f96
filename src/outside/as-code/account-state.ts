/** Everything that an account has of the kinds that files describe, read through the API. */
import type { JsonObject } from '../../ground/core/json-object.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Client } from '../../words/client/client.js'
import type { IpListEntry } from '../../words/shape/ip-lists/ip-list-entries.js'
import { givenFields, givenOf } from './given.js'
import { type Body, type ManagedKind, managedKinds } from './managed-kinds.js'

/** A resource of the account. */
export interface Live {
  readonly kind: ManagedKind
  readonly id: string
  readonly shown: JsonObject
  readonly body: Body
  /** Rules of an IP policy; other kinds have none. */
  readonly rules: readonly JsonObject[]
  /** Routes of an HTTPS edge; other kinds have none. */
  readonly routes: readonly JsonObject[]
  /** Entries of an IP list that no source fills. */
  readonly entries: readonly IpListEntry[] | undefined
}

/** The operations of a kind, whichever it is. */
interface Operations {
  create(body: object, options?: object): Promise<JsonObject>
  list(options?: object): AsyncIterable<JsonObject>
  update(id: string, body: object, options?: object): Promise<JsonObject>
  delete(id: string, options?: object): Promise<void>
}

const pageMax = 100

export const operationsOf = (client: Client, { name }: Pick<ManagedKind, 'name'>): Operations =>
  client[name as 'tcpEdge'] as unknown as Operations

/** By their kinds, each in the order in which they were made. */
export async function readAccount(client: Client): Promise<ReadonlyMap<ManagedKind, readonly Live[]>> {
  const rules = await rulesByPolicy(client)
  const read = managedKinds.map(async (kind) => [kind, await readKind(client, kind, rules)] as const)
  return new Map(await Promise.all(read))
}

async function readKind(
  client: Client,
  kind: ManagedKind,
  rules: ReadonlyMap<string, readonly JsonObject[]>,
): Promise<Live[]> {
  const fields = givenFields(kind.resource)
  const found: Live[] = []
  for await (const shown of operationsOf(client, kind).list({ limit: pageMax })) {
    const id = String(shown['id'])
    const isFilled = kind.name === 'ipList' && shown['source'] === null
    found.push({
      kind,
      id,
      shown,
      body: { ...givenOf(fields, shown), ...hiddenOf(kind, shown) },
      rules: rules.get(id) ?? [],
      routes: ((shown['routes'] ?? []) as readonly JsonObject[]).toReversed(),
      entries: isFilled ? await allOf(client.listEntries.list(id)) : undefined,
    })
  }
  return found.reverse()
}

/** Members of the body that can be told although they are never shown. */
const hiddenOf = ({ name }: ManagedKind, shown: JsonObject): Body =>
  name === 'sshCertificateAuthority' ? keyOptions(String(shown['public_key'])) : {}

/** In the order in which they were made. */
async function rulesByPolicy(client: Client): Promise<ReadonlyMap<string, readonly JsonObject[]>> {
  const all = (await allOf(client.ipPolicyRule.list({ limit: pageMax }))) as readonly JsonObject[]
  const byPolicy = new Map<string, JsonObject[]>()
  for (const rule of all.toReversed())
    getOrMake(byPolicy, String((rule['ip_policy'] as JsonObject)['id']), (): JsonObject[] => []).push(rule)
  return byPolicy
}

async function allOf<T>(each: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of each) all.push(one)
  return all
}

/** The options that made the key of an authority, of which the API shows none (RFC 4253, section 6.6; RFC 5656, section 3.1). */
export function keyOptions(publicKey: string): JsonObject {
  const [algorithm = '', blob = ''] = publicKey.split(' ')
  if (algorithm === 'ssh-rsa') {
    const bytes = Buffer.from(blob, 'base64')
    const exponent = 4 + bytes.readUInt32BE(0)
    const modulus = exponent + 4 + bytes.readUInt32BE(exponent)
    // A leading zero keeps it positive.
    return { private_key_type: 'rsa', key_size: (bytes.readUInt32BE(modulus) - 1) * 8 }
  }
  const [, bits] = /^ecdsa-sha2-nistp(\d+)$/.exec(algorithm) ?? []
  return bits === undefined
    ? { private_key_type: 'ed25519' }
    : { private_key_type: 'ecdsa', elliptic_curve: `p${bits}` }
}
