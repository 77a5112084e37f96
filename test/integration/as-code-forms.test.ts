/** Whatever the files say of a resource, from as little as possible to everything: there is no difference after an apply. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../src/ground/core/json-object.js'
import { compileCheck } from '../../src/ground/core/schema-check.js'
import { readAccount } from '../../src/outside/as-code/account-state.js'
import { Application, versionOf } from '../../src/outside/as-code/apply.js'
import { Comparison, type Plan } from '../../src/outside/as-code/difference.js'
import { exported } from '../../src/outside/as-code/export.js'
import { fileSchema } from '../../src/outside/as-code/file-schema.js'
import { managedKinds } from '../../src/outside/as-code/managed-kinds.js'
import { SourceFiles } from '../../src/outside/as-code/source-files.js'
import type { Client } from '../../src/words/client/client.js'
import {
  exampleCertificate,
  examplePrivateKey,
  exampleSshKey,
} from '../../src/words/resource/kind/examples.js'
import { tempDir } from '../harness/temp-dir.js'
import { startWeir } from '../harness/weir.js'

const described = { description: `a text: with "signs", $\${and} more`, metadata: '{"a": 1}' }
const policies = {
  enabled: false,
  inbound: [
    {
      name: 'one',
      expressions: ["conn.server_port == 22 && conn.client_ip != '::'"],
      actions: [{ type: 'deny' }],
    },
    { actions: [{ type: 'log', config: { Metadata: { Message: '$${x}' } } }], enforced: false },
  ],
}
const restriction = { ip_policy_ids: ['policy'], enabled: false }

interface Form {
  readonly needed: JsonObject
  readonly optional: JsonObject
}

/** What each kind needs, and what it may have. Others refer to the ones that are always there. */
const forms: Readonly<Record<string, Form>> = {
  ip_lists: {
    needed: { id: 'list', name: 'a-list' },
    optional: {
      ...described,
      category: 'proxy.tor',
      entries: ['192.0.2.0/24', { cidr: '2001:DB8::/32', comment: 'c' }],
    },
  },
  backends: { needed: { id: 'backend' }, optional: { ...described, labels: { a: '1' } } },
  certificate_authorities: { needed: { ca_pem: `${exampleCertificate}\n\n` }, optional: described },
  tls_certificates: {
    needed: { id: 'certificate', certificate_pem: exampleCertificate, private_key_pem: examplePrivateKey },
    optional: described,
  },
  reserved_domains: {
    needed: { domain: 'WWW.example.com' },
    optional: { ...described, region: 'eu', certificate_id: 'certificate' },
  },
  reserved_addrs: { needed: { id: 'address' }, optional: { ...described, region: 'eu' } },
  ip_policies: {
    needed: { id: 'policy' },
    optional: {
      ...described,
      rules: [
        {
          cidr: '203.0.113.7',
          action: 'allow',
          description: 'one address',
          expires_at: '2030-01-01T01:00:00+01:00',
        },
        { list_id: 'list', action: 'deny', enforced: false },
      ],
    },
  },
  tcp_edges: {
    needed: {},
    optional: {
      ...described,
      hostports: ['SSH.example.com:22', `\${addr:address}`],
      backend: { backend_id: 'backend' },
      ip_restriction: restriction,
      policies,
    },
  },
  https_edges: {
    needed: { hostports: ['www.example.com:443'] },
    optional: {
      ...described,
      ambiguous_targets: 'refuse',
      policies: { inbound: [], enabled: true },
      routes: [
        { match_type: 'path_prefix', match: '/a/', ip_restriction: restriction, policies },
        { match_type: 'exact_path', match: '/', description: 'root' },
      ],
    },
  },
  ip_restrictions: {
    needed: { type: 'endpoints', ip_policy_ids: ['policy'] },
    optional: { ...described, enforced: false },
  },
  ssh_certificate_authorities: {
    needed: { id: 'authority' },
    optional: { ...described, private_key_type: 'ecdsa', elliptic_curve: 'p256' },
  },
  ssh_host_certificates: {
    needed: { public_key: exampleSshKey, ssh_certificate_authority_id: 'authority' },
    optional: { ...described, principals: ['ssh.example.com'], valid_until: '2031-01-01T00:00:00Z' },
  },
  ssh_user_certificates: {
    needed: { public_key: exampleSshKey, ssh_certificate_authority_id: 'authority', principals: ['alice'] },
    optional: {
      ...described,
      extensions: { 'permit-pty': '' },
      critical_options: { 'force-command': 'true' },
    },
  },
  ssh_credentials: {
    needed: { public_key: exampleSshKey },
    optional: { ...described, acl: ['bind:*.example.com'] },
  },
  credentials: { needed: {}, optional: { ...described, acl: ['bind:*.example.com'] } },
  bouncers: { needed: { ip_policy_ids: ['policy'] }, optional: { ...described, ip_list_ids: ['list'] } },
  event_destinations: {
    needed: {
      id: 'destination',
      target: {
        http: { url: 'https://events.example.com/in', auth: { bearer: { token: 'a-secret-token' } } },
      },
    },
    optional: { ...described, on_expiry: 'block', format: 'JSON' },
  },
  event_subscriptions: {
    needed: {},
    optional: {
      ...described,
      sources: [{ type: 'tcp_connection_closed.v0', filter: 'conn.server_port == 22' }, { type: 'log.v0' }],
      destination_ids: ['destination'],
    },
  },
  keys: { needed: {}, optional: { ...described, rights: ['read'], expires_at: '2030-01-01T00:00:00Z' } },
  policy_tests: {
    needed: {
      given: {
        type: 'tcp_connection',
        conn: { client_ip: '192.0.2.1', server_name: 'other.example.com', server_port: 1 },
      },
      expect: { decision: 'allow' },
    },
    optional: described,
  },
}

/** A file in which each resource has some of its optional members. Those that need another member come with it. */
const account: fc.Arbitrary<JsonObject> = fc
  .record(
    Object.fromEntries(
      Object.entries(forms).map(([section, { needed, optional }]) => [
        section,
        fc.subarray(Object.keys(optional)).map((chosen) => [
          {
            ...needed,
            ...Object.fromEntries(
              Object.keys(optional)
                .filter((name) => chosen.includes(name))
                .map((name) => [name, optional[name]]),
            ),
          },
        ]),
      ]),
    ),
  )
  .map((file) => {
    const [authority] = file['ssh_certificate_authorities'] as [Record<string, unknown>]
    if ('elliptic_curve' in authority) authority['private_key_type'] = 'ecdsa'
    return file
  })

/** The variables that a file names. */
const secretsOf = (text: string): NodeJS.ProcessEnv =>
  Object.fromEntries(
    [...text.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = '']) => [
      name,
      name.endsWith('_PEM') ? examplePrivateKey : 'a-secret-token',
    ]),
  )

async function planOf(client: Client, file: string): Promise<Plan> {
  const files = SourceFiles.read([file], secretsOf(readFileSync(file, 'utf8')))
  const { plan, faults } = await new Comparison(client, files).plan(await readAccount(client), {
    prune: true,
  })
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return plan
}

const inWords = ({ differences }: Plan): string[] =>
  differences.map(
    ({ action, kind, name, fields, parts }) =>
      `${action} ${kind.section} ${name} ${JSON.stringify([fields, parts.counts])}`,
  )

t.test('the JSON Schema of the files', async (t) => {
  const complaint = compileCheck(fileSchema() as never)
  await fc.assert(
    fc.asyncProperty(account, async (written) => {
      const said = complaint(written, 'file')
      if (said !== undefined) throw new Error(said)
    }),
    { examples: [[all((form) => form.optional)], [all(() => ({}))]] },
  )
  for (const [wrong, says] of [
    [{ tcp_edge: [] }, /tcp_edges/],
    [{ tcp_edges: [{ hostport: [] }] }, /hostport/],
    [{ ip_policies: [{ rules: [{ cidr: 7, action: 'allow' }] }] }, /cidr/],
    [{ ip_policies: [{ rules: [{ cidr: '192.0.2.0/24', action: 'permit' }] }] }, /action/],
    [{ event_destinations: [{ description: 'without a target' }] }, /target/],
    [{ tcp_edges: [{ ip_restriction: { enabled: true } }] }, /ip_restriction/],
  ] as const)
    t.match(complaint(wrong, ''), says)
})

t.test('every form of every kind', async (t) => {
  t.same(Object.keys(forms).toSorted(), managedKinds.map(({ section }) => section).toSorted())
  const dir = tempDir(t)
  const weir = await startWeir(tempDir(t), { WEIR_RATE_LIMIT: '0' })
  t.teardown(() => weir.stop())
  const file = join(dir, 'weir.json')
  const tokens = join(dir, 'tokens')
  await fc.assert(
    fc.asyncProperty(account, async (written) => {
      // The key that the test uses stays.
      writeFileSync(
        file,
        JSON.stringify({
          ...written,
          keys: [{ description: 'First key of the account.' }, ...(written['keys'] as object[])],
        }),
      )
      const version = await versionOf(weir.api)
      const plan = await planOf(weir.api, file)
      const { refusalOf } = plan
      await new Application(weir.api, version, { tokens, done: () => {}, refusalOf }).run(plan)
      const after = inWords(await planOf(weir.api, file))
      if (after.length > 0) throw new Error(`after the apply: ${after.join('\n')}`)
      const again = join(dir, 'exported.yaml')
      writeFileSync(again, exported(await readAccount(weir.api)))
      const own = inWords(await planOf(weir.api, again))
      if (own.length > 0) throw new Error(`after the export: ${own.join('\n')}`)
    }),
    { numRuns: 12, endOnFailure: true, examples: [[all((form) => form.optional)], [all(() => ({}))]] },
  )
})

/** Each resource with these of its optional members. */
function all(chosen: (form: Form) => JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(forms).map(([section, form]) => [section, [{ ...form.needed, ...chosen(form) }]]),
  )
}
