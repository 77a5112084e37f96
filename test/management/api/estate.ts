/** An account that has one resource of every kind, each with all its references and modules set. */
import type { Fields } from '../../../src/words/resource/kind/define.js'
import { type AnyResource, allOperations } from '../../../src/words/resource/kind/define.js'
import { resourceOf, resources } from '../../../src/words/resource/registry.js'
import type { Caller } from '../../harness/caller.js'
import { certificateBody, fixturePem } from '../../harness/certificates.js'

type Body = Readonly<Record<string, unknown>>

/** Used by both accounts, so that their resources differ in the account only. */
export const sharedDescription = 'the same in every account'

const described = { description: sharedDescription }

const sshCertificate = async (of: Estate): Promise<Body> => ({
  ...described,
  ssh_certificate_authority_id: await of.id('ssh_certificate_authority'),
  public_key: await of.publicKey(),
})

const modules = async (of: Estate): Promise<Body> => ({
  backend: { backend_id: await of.id('tunnel_group_backend') },
  ip_restriction: { ip_policy_ids: [await of.id('ip_policy')] },
})

const policies = { inbound: [{ actions: [{ type: 'deny' }] }] }

/** The body that creates a resource of each kind. */
const bodies: Readonly<Record<string, (of: Estate) => Promise<Body> | Body>> = {
  tcp_edge: async (of) => ({
    ...described,
    hostports: [`${of.name}.example:22`],
    ...(await modules(of)),
    policies,
  }),
  https_edge: (of) => ({ ...described, hostports: [`${of.name}.example:443`], policies }),
  https_edge_route: async (of) => ({
    ...described,
    match_type: 'exact_path',
    match: '/',
    ...(await modules(of)),
    policies,
  }),
  tunnel_group_backend: () => described,
  ip_policy: () => described,
  ip_policy_rule: async (of) => ({
    ...described,
    ip_policy_id: await of.id('ip_policy'),
    cidr: '192.0.2.0/24',
    action: 'allow',
  }),
  ip_restriction: async (of) => ({
    ...described,
    type: 'dashboard',
    ip_policy_ids: [await of.id('ip_policy')],
  }),
  ip_list: (of) => ({ ...described, name: of.name }),
  policy_test: () => ({
    ...described,
    given: { type: 'tcp_connection', conn: { client_ip: '192.0.2.7' } },
    expect: { decision: 'allow' },
  }),
  challenger: async (of) => ({
    ...described,
    draft: { edges: [{ id: await of.id('tcp_edge'), policies: { inbound: [] } }] },
  }),
  domain: async (of) => ({
    ...described,
    domain: `${of.name}.rsa.example`,
    certificate_id: await of.id('tls_certificate'),
  }),
  tls_certificate: () => ({ ...described, ...certificateBody('rsa') }),
  certificate_authority: () => ({ ...described, ca_pem: fixturePem('authority') }),
  ssh_certificate_authority: () => described,
  ssh_host_certificate: sshCertificate,
  ssh_user_certificate: async (of) => ({ ...(await sshCertificate(of)), principals: ['root'] }),
  ssh_credential: async (of) => ({ ...described, public_key: await of.publicKey() }),
  event_destination: () => ({
    ...described,
    target: {
      kinesis: {
        stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/x',
        auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/x' } },
      },
    },
  }),
  event_subscription: async (of) => ({
    ...described,
    sources: [{ type: 'tcp_connection_closed.v0' }],
    destination_ids: [await of.id('event_destination')],
  }),
  reserved_addr: () => described,
  tunnel_credential: () => described,
  bouncer: async (of) => ({ ...described, ip_policy_ids: [await of.id('ip_policy')] }),
  abuse_report: () => ({ urls: ['http://evil.example'] }),
  api_key: () => described,
}

/** Kinds that the API has operations for. */
export const servedResources: readonly AnyResource[] = resources.filter(
  ({ operations = allOperations }) => operations.length > 0,
)

export class Estate {
  readonly client: Caller
  readonly name: string
  readonly #made = new Map<string, Promise<Body>>()

  constructor(client: Caller, name: string) {
    this.client = client
    this.name = name
  }

  /** The body of a resource like the existing one; fails for a kind without an example. */
  async body(kind: string): Promise<Body> {
    const make = bodies[kind]
    if (make === undefined) throw new Error(`There is no example of the kind ${kind}: add one here.`)
    return make(this)
  }

  /** The resource of the kind as the API showed it; created if necessary. */
  one(kind: string): Promise<Body> {
    const known = this.#made.get(kind)
    if (known !== undefined) return known
    const made = this.#make(kind)
    this.#made.set(kind, made)
    return made
  }

  async id(kind: string): Promise<string> {
    return String((await this.one(kind))['id'])
  }

  async publicKey(): Promise<string> {
    return String((await this.one('ssh_certificate_authority'))['public_key'])
  }

  /** The path at which resources of the kind are created, below a parent if they have one. */
  async collection({ path, parent }: AnyResource): Promise<string> {
    return parent === undefined ? path : path.replace(`{${parent.field}}`, await this.id(parent.kind))
  }

  async #make(kind: string): Promise<Body> {
    return this.client.at(await this.collection(resourceOf(kind))).create(await this.body(kind))
  }
}

/** A field that names resources of the account. */
export interface ReferenceField {
  readonly kind: string
  readonly many: boolean
  readonly module: string | undefined
  readonly name: string
  readonly isChangeable: boolean
}

/** All such fields of a body. */
export function* referenceFields(
  { fields, parent }: Pick<AnyResource, 'fields' | 'parent'>,
  module?: string,
): Generator<ReferenceField> {
  for (const [name, { reference, fields: members, setBy }] of Object.entries(fields as Fields)) {
    if (members !== undefined) yield* referenceFields({ fields: members }, name)
    if (reference === undefined || reference.foreignPath !== undefined || name === parent?.field) continue
    const { kind, many } = reference
    yield { kind, many, module, name, isChangeable: setBy === 'client' }
  }
}
