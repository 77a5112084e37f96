/** Requests that a client can correct: each is refused with a sentence that names the field and what is allowed. */
import t from 'tap'
import { grantRight } from '../../../src/management/write/accounts.js'
import { allOperations } from '../../../src/words/resource/kind/define.js'
import { resources } from '../../../src/words/resource/registry.js'
import { openTestStore } from '../../harness/api.js'
import type { Caller } from '../../harness/caller.js'

const arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/x'
const creds = { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE', aws_secret_access_key: 'never-shown' }
const id26 = '01M7Y46P1SGDTCFAVEJ96D4PD7'

type Row = readonly [field: string, body: unknown, says: RegExp]

const inbound = (...policies: unknown[]) => ({ policies: { inbound: policies } })
const outbound = (...policies: unknown[]) => ({ policies: { outbound: policies } })
const logging = (config: unknown) => ({ actions: [{ type: 'log', config }] })
const when = (...expressions: unknown[]) => ({ expressions, actions: [{ type: 'deny' }] })
const kinesis = (stream_arn: unknown, auth: unknown = { creds }) => ({
  target: { kinesis: { stream_arn, auth } },
})
const source = (type: string, more: object = {}) => ({ sources: [{ type, ...more }] })
const many = (count: number, make: (at: number) => unknown) =>
  Array.from({ length: count }, (_, at) => make(at))

const common: Row[] = [
  ['a number as text', { description: 5 }, /"description" is 5, but must be a string/],
  ['a list as text', { metadata: [] }, /"metadata" is \[\], but must be a string/],
  ['an unknown field', { descripton: 'x' }, /has no field "descripton".*did you mean "description"\?/],
  ['a field of Weir', { created_at: 'now' }, /has no field "created_at"/],
  ['a prototype', JSON.parse('{"__proto__": {"description": "x"}}'), /has no field "__proto__"/],
  ['a constructor', { constructor: 1 }, /has no field "constructor"/],
]

const inBytes: Row[] = [
  [
    '256 bytes',
    { description: 'x'.repeat(256) },
    /^"description" is too long \(256 bytes\): at most 255 bytes in UTF-8 are allowed\.$/,
  ],
  [
    'multi-byte text',
    { description: 'é'.repeat(128) },
    /^"description" is too long \(256 bytes\): at most 255 bytes in UTF-8 are allowed\.$/,
  ],
  ['both', { description: 'é'.repeat(256) }, /^"description" is too long \(512 bytes\): at most 255 bytes/],
  ['4097 bytes', { metadata: 'x'.repeat(4097) }, /"metadata" .*at most 4096/],
  ['4098 bytes of emoji', { metadata: `${'😀'.repeat(1024)}é` }, /"metadata" .*at most 4096 bytes/],
]

const hostports = (...texts: unknown[]) => ({ hostports: texts })

const tcpEdge: Row[] = [
  ['text for a list', { hostports: 'a:1' }, /"hostports" is "a:1", but must be a list/],
  ['empty text for a list', { hostports: '' }, /"hostports" is "", but must be a list/],
  ['no port', hostports('a.example'), /"hostports\[0\]" is "a.example": "host:port" is needed/],
  ['port 0', hostports('a:0'), /port must be 1 to 65535/],
  ['port 65536', hostports('a:65536'), /port must be 1 to 65535/],
  ['port 080', hostports('a:080'), /leading zeros/],
  ['no host', hostports(':22'), /"host:port" is needed/],
  ['a space', hostports('a b:22'), /"host:port" is needed/],
  ['a scheme', hostports('tcp://a:22'), /"hostports\[0\]"/],
  ['a host that is none', hostports('-a:22'), /not a valid host name/],
  [
    'a disguised letter',
    hostports('\u212a.example:22'),
    /"hostports\[0\]" is "\u212a.example:22": .*U\+212A/,
  ],
  ['one name in two scripts', hostports('bü:1', 'xn--b-eha:1'), /"xn--b-eha:1" appears twice/],
  ['an endless host', hostports(`${'a'.repeat(64)}.example:22`), /not a valid host name/],
  ['IPv6 without brackets', hostports('::1:22'), /brackets/],
  ['brackets around a name', hostports('[a]:22'), /not an IPv6 address/],
  ['brackets around nothing', hostports('[]:22'), /not an IPv6 address/],
  ['one twice', hostports('a:1', 'A:1'), /"a:1" appears twice/],
  ['one address twice', hostports('[::1]:1', '[0:0::1]:1'), /appears twice/],
  ['101 of them', hostports(...many(101, (at) => `h${at}:1`)), /101 entries: at most 100/],
  ['a module as text', { backend: 'x' }, /"backend" is "x", but must be an object/],
  ['a module as empty text', { backend: '' }, /"backend" is "", but must be an object/],
  ['a module as a list', { backend: [] }, /"backend" is \[\], but must be an object/],
  ['a module without its id', { backend: { enabled: true } }, /"backend" lacks "backend_id"/],
  ['a field no module has', { backend: { tunnel: 'x' } }, /"backend" (has no field|lacks)/],
  ['a Ref that is none', { backend: { backend: 'x' } }, /"backend.backend" is "x", but must be an object/],
  [
    'text for true',
    { backend: { backend_id: `bkdtg_${id26}`, enabled: 'yes' } },
    /"backend.enabled" .*true or false/,
  ],
  ['the wrong prefix', { backend: { backend_id: `ipp_${id26}` } }, /"backend.backend_id" .*"bkdtg_"/],
  ['no policies', { ip_restriction: { ip_policy_ids: [] } }, /0 entries, but must have at least 1/],
  ['one policy for a list', { ip_restriction: { ip_policy_ids: `ipp_${id26}` } }, /must be a list/],
  ['a policy twice', { ip_restriction: { ip_policy_ids: [`ipp_${id26}`, `ipp_${id26}`] } }, /twice/],
  [
    '51 policies',
    { ip_restriction: { ip_policy_ids: many(51, (at) => `ipp_${at}`) } },
    /51 entries: at most 50/,
  ],
]

const trafficPolicies: Row[] = [
  ['no list', { policies: { inbound: {} } }, /"policies.inbound" is \{\}, but must be a list/],
  ['no actions', inbound({ expressions: [] }), /"policies.inbound\[0\]" lacks "actions"/],
  ['an empty list of actions', inbound({ actions: [] }), /"policies.inbound\[0\].actions" .*at least 1/],
  ['six actions', outbound({ actions: many(6, () => ({ type: 'log' })) }), /6 entries: at most 5/],
  ['21 policies', inbound(...many(21, () => when())), /21 entries: at most 20/],
  ['11 expressions', inbound(when(...many(11, () => 'true'))), /11 entries: at most 10/],
  [
    'an unknown action',
    inbound({ actions: [{ type: 'allow' }] }),
    /inbound\[0\].actions\[0\].type" is "allow".*"deny", "log"/,
  ],
  ['deny in outbound', outbound(when()), /"policies.outbound\[0\].actions\[0\].type" is "deny"/],
  [
    'an action after a deny',
    inbound({ actions: [{ type: 'deny' }, { type: 'log', config: { Metadata: {} } }] }),
    /"policies.inbound\[0\].actions\[1\]" comes after a deny/,
  ],
  [
    'a deny with a config',
    inbound({ actions: [{ type: 'deny', config: { a: 1 } }] }),
    /"policies.inbound\[0\].actions\[0\].config" is given/,
  ],
  ['a log without one', inbound(logging(null)), /actions\[0\].config" must be \{"Metadata"/],
  ['a log with nothing', inbound(logging({})), /must be \{"Metadata"/],
  [
    'a log with more',
    inbound(logging({ Metadata: {}, More: 1 })),
    /actions\[0\].config" has no field "More": supported are "Metadata"/,
  ],
  [
    'metadata twice',
    inbound(logging({ Metadata: {}, metadata: {} })),
    /config" has the fields "Metadata" and "metadata", which mean the same: send only one/,
  ],
  [
    'an unknown field of a policy',
    inbound({ ...when(), expression: [] }),
    /"policies.inbound\[0\]" has no field "expression": did you mean "expressions"\? supported are "name", "expressions", "actions"/,
  ],
  [
    'an unknown field of an action',
    inbound({ actions: [{ type: 'deny', foo: 1, bar: 2 }] }),
    /"policies.inbound\[0\].actions\[0\]" has no field "foo": supported are "type", "config"\.$/,
  ],
  ['metadata that is no map', inbound(logging({ Metadata: 'x' })), /must be \{"Metadata"/],
  ['metadata as a list', inbound(logging({ Metadata: [] })), /must be \{"Metadata"/],
  ['metadata of 4 KiB and more', inbound(logging({ Metadata: { a: 'x'.repeat(4096) } })), /at most 4096/],
  [
    'a name too long',
    inbound({ ...when(), name: 'x'.repeat(256) }),
    /"policies.inbound\[0\].name" .*at most 255/,
  ],
  [
    'a name that is none',
    inbound({ ...when(), name: 5 }),
    /"policies.inbound\[0\].name" is 5, but must be a string/,
  ],
  ['an expression that is none', inbound(when(5)), /"policies.inbound\[0\].expressions\[0\]" is 5/],
  ['an empty expression', inbound(when('')), /expressions\[0\]" is not a valid expression/],
  ['an unclosed bracket', inbound(when('true', '(1 + 2')), /expressions\[1\]" is not a valid expression/],
  ['an unknown name', inbound(when('conn.client_ib == "x"')), /conn.client_ip/],
  ['an unknown function', inbound(when('inCidrRang(conn.client_ip, "10.0.0.0/8")')), /inCidrRange/],
  ['too few arguments', inbound(when('inCidrRange(conn.client_ip)')), /inCidrRange/],
  ['a bad CIDR', inbound(when('inCidrRange(conn.client_ip, "10.0.0.0/33")')), /10\.0\.0\.0\/33/],
  ['&& beside ||', inbound(when('true && false || true')), /parenthes/i],
  ['an outbound name inbound', inbound(when('conn.end_ts > 1')), /conn.end_ts has a value only/],
  ['a prototype in an expression', inbound(when('conn.constructor')), /constructor/],
  ['17 KiB of an expression', inbound(when(`"${'x'.repeat(17 * 1024)}"`)), /16384|16 KiB/],
  [
    '65 KiB of expressions',
    inbound(...many(5, () => when(`"${'x'.repeat(13_500)}" == ""`))),
    /expressions: at most 65536/,
  ],
]

/** The same in the body of the module itself, in which fields have no prefix. */
const asModule = ([name, body, says]: Row): Row => {
  const { policies } = body as { policies: unknown }
  return [name, policies, new RegExp(says.source.replaceAll('"policies.', '^"'))]
}

const rule = { cidr: '10.0.0.0/8', action: 'allow' }

const ipPolicyRule = (ip_policy_id: string): Row[] => [
  ['nothing', {}, /"ip_policy_id" is required/],
  ['no policy', rule, /"ip_policy_id" is required/],
  ['no action', { cidr: '10.0.0.0/8', ip_policy_id }, /"action" is required/],
  ['null for what is required', { ...rule, ip_policy_id: null }, /"ip_policy_id" is required/],
  ['another kind', { ...rule, ip_policy_id: `ipr_${id26}` }, /"ip_policy_id" .*"ipp_"/],
  ['another action', { ...rule, ip_policy_id, action: 'ALLOW' }, /"action" is "ALLOW".*"allow", "deny"/],
  ...[
    ['empty', '', /"cidr"/],
    ['host bits', '10.0.0.1/8', /10\.0\.0\.0\/8/],
    ['host bits of IPv6', '2001:db8::1/32', /2001:db8::\/32/],
    ['a mask too long', '10.0.0.0/33', /0 to 32/],
    ['no mask', '10.0.0.0/', /"cidr"/],
    ['a mask with a zero', '10.0.0.0/08', /"cidr"/],
    ['octal', '010.0.0.0/8', /"cidr"/],
    ['hexadecimal', '0x0a.0.0.0/8', /"cidr"/],
    ['three parts', '10.0.0/8', /"cidr"/],
    ['a number', '167772160/8', /"cidr"/],
    ['spaces', ' 10.0.0.0/8', /"cidr"/],
    ['a zone', 'fe80::%eth0/64', /"cidr"/],
  ].map(
    ([name, cidr, says]): Row => [`a CIDR: ${name}`, { ip_policy_id, action: 'deny', cidr }, says as RegExp],
  ),
]

const ipRestriction = (policy: string): Row[] => [
  ['nothing', {}, /"type" is required/],
  ['no policies', { type: 'api' }, /"ip_policy_ids" is required/],
  ['an empty list', { type: 'api', ip_policy_ids: [] }, /at least 1/],
  ['another type', { type: 'API', ip_policy_ids: [policy] }, /"dashboard", "api", "agent", "endpoints"/],
  ['text for true', { type: 'api', ip_policy_ids: [policy], enforced: 'true' }, /"enforced" .*true or false/],
  [
    'empty text for true',
    { type: 'api', ip_policy_ids: [policy], enforced: '' },
    /"enforced" .*true or false/,
  ],
]

const connection = { type: 'tcp_connection', conn: { client_ip: '192.0.2.7' } }

const ipList: Row[] = [
  ['no name', {}, /"name" is required/],
  ['a name in capitals', { name: 'Tor' }, /"name" is "Tor"/],
  ['a name with a space', { name: 'tor exits' }, /"name" is "tor exits"/],
  ['a name that ends with a dot', { name: 'tor.' }, /"name" is "tor."/],
  ['a name too long', { name: 'x'.repeat(65) }, /"name" .*64/],
  ['a category without a word', { name: 'tor', category: 'proxy..tor' }, /"category" is "proxy..tor"/],
  ['a category of six words', { name: 'tor', category: 'a.b.c.d.e.f' }, /"category" is/],
  ['entries', { name: 'tor', entries: 3 }, /"entries"/],
]

/** Faults in drafts of resources that exist are in `challengers.test.ts`. */
const challenger: Row[] = [
  ['nothing', {}, /"draft" is required/],
  ['a draft that is none', { draft: 5 }, /"draft" is 5, but must be an object/],
  ['an unknown list', { draft: { rules: [] } }, /"draft" has no field "rules"/],
  ['no time', { draft: {}, ends_at: 'soon' }, /"ends_at" is "soon"/],
]

const policyTest: Row[] = [
  ['nothing given', { expect: { decision: 'allow' } }, /"given" is required/],
  ['nothing expected', { given: connection }, /"expect" is required/],
  ['no record', { given: {}, expect: { decision: 'allow' } }, /"given" is .*type/],
  ['an unknown decision', { given: connection, expect: { decision: 'ask' } }, /"expect.decision" is "ask"/],
]

const backend: Row[] = [
  ['labels as a list', { labels: [] }, /"labels" is \[\], but must be an object/],
  ['a number as a label', { labels: { a: 1 } }, /"labels.a" is 1, but must be a string/],
  ['a label too long', { labels: { a: 'x'.repeat(256) } }, /"labels.a" .*255/],
  ['a name too long', { labels: { ['x'.repeat(256)]: 'a' } }, /"labels" .*name must have 1 to 255 bytes/],
  [
    '101 labels',
    { labels: Object.fromEntries(many(101, (at) => [`l${at}`, '']) as [string, string][]) },
    /at most 100/,
  ],
  ['tunnels', { tunnels: [] }, /has no field "tunnels"/],
]

const reservedAddr: Row[] = [
  ['another region', { region: 'mars' }, /"region" is "mars".*"au", "eu", "ap", "us", "jp", "in", "sa"/],
  ['a region in capitals', { region: 'EU' }, /"region" is "EU", but must be one of/],
  ['a number as a region', { region: 1 }, /"region" is 1/],
  ['an address', { addr: '1.tcp.us.weir.localhost:10000' }, /has no field "addr"/],
  ['another prefix', { endpoint_configuration_id: `ipp_${id26}` }, /"endpoint_configuration_id" .*"ec_"/],
  ['a prefix alone', { endpoint_configuration_id: 'ec_' }, /"endpoint_configuration_id" .*"ec_"/],
  ['a path', { endpoint_configuration_id: 'ec_../../x' }, /"endpoint_configuration_id" .*"ec_"/],
  ['a number', { endpoint_configuration_id: 5 }, /"endpoint_configuration_id" is 5/],
  ['a Ref', { endpoint_configuration: { id: `ec_${id26}` } }, /did you mean "endpoint_configuration_id"/],
]

const tunnelCredential: Row[] = [
  ['a rule as text', { acl: '*' }, /"acl" is "\*", but must be a list/],
  ['empty text for a list', { acl: '' }, /"acl" is "", but must be a list/],
  ['a number as a rule', { acl: [5] }, /"acl\[0\]" is 5, but must be a string/],
  ['null as a rule', { acl: [null] }, /"acl\[0\]" is null, but must be a string/],
  ['an empty rule', { acl: [''] }, /"acl\[0\]" is "": "\*", "bind:<host>" or "bind:\*.<domain>" is needed/],
  ['another verb', { acl: ['*', 'connect:a.example'] }, /"acl\[1\]" is "connect:a.example": "\*"/],
  ['nothing to bind', { acl: ['bind:'] }, /"acl\[0\]" .*host name/],
  ['a wildcard within', { acl: ['bind:a.*.example'] }, /"acl\[0\]" .*host name/],
  ['a wildcard alone', { acl: ['bind:*'] }, /"acl\[0\]" .*host name/],
  ['below an address', { acl: ['bind:*.10.0.0.1'] }, /an address has no subdomains/],
  ['a port too large', { acl: ['bind:a.example:65536'] }, /port must be 1 to 65535/],
  ['an address', { acl: ['bind:http://a.example'] }, /"acl\[0\]"/],
  ['a rule too long', { acl: [`bind:${'a'.repeat(300)}`] }, /"acl\[0\]" is too long/],
  ['101 rules', { acl: many(101, () => '*') }, /101 entries: at most 100/],
  ['a token', { token: 'weir_x' }, /has no field "token"/],
]

const route: Row[] = [
  ['nothing', {}, /"match_type" is required/],
  ['no match', { match_type: 'exact_path' }, /"match" is required/],
  ['another type', { match_type: 'regex', match: '/' }, /"exact_path", "path_prefix"/],
  ['no path', { match_type: 'exact_path', match: 'a' }, /begins with "\/"/],
  ['a query', { match_type: 'exact_path', match: '/a?b' }, /"match" is "\/a\?b"/],
  ['too long', { match_type: 'exact_path', match: `/${'a'.repeat(1024)}` }, /at most 1024/],
  ['another edge', { match_type: 'exact_path', match: '/', edge_id: `edghts_${id26}` }, /the path says/],
  [
    'a name of connections',
    { match_type: 'exact_path', match: '/', ...inbound(when('conn.bytes_in > 5')) },
    /"policies.inbound\[0\].expressions\[0\]" .*known of TCP connections only/,
  ],
]

const bucket = { bucket_arn: 'arn:aws:s3:::bucket', region: 'eu-west-1', auth: { creds } }

const eventDestination: Row[] = [
  ['nothing', {}, /"target" is required/],
  ['an empty target', { target: {} }, /exactly one of kinesis, firehose, cloudwatch_logs/],
  [
    'an unknown kind',
    { target: { tape: {} } },
    /"target" has no field "tape": supported are "kinesis", "firehose", "cloudwatch_logs"/,
  ],
  [
    'an unknown field of a target',
    { target: { kinesis: { ...kinesis(arn).target.kinesis, x: 1 } } },
    /"target.kinesis" has no field "x": supported are "stream_arn", "auth"/,
  ],
  [
    'an S3 bucket without its region',
    { target: { s3: { bucket_arn: 'arn:aws:s3:::b', auth: { creds } } } },
    /"target.s3" lacks "region"/,
  ],
  [
    'an S3 bucket of another region',
    { target: { s3: { ...bucket, region: 'cn-north-1' } } },
    /"target.s3" has the region cn-north-1, which does not lie in the partition aws/,
  ],
  [
    'a key of objects without their name',
    { target: { s3: { ...bucket, key: 'weir/{kind}' } } },
    /"target.s3.key" .*the placeholder \{name\} is missing/,
  ],
  [
    'a KMS key that is none',
    { target: { s3: { ...bucket, sse: { type: 'aws:kms', kms_key_id: 'a b' } } } },
    /"target.s3.sse.kms_key_id" .*the id, ARN or alias of a KMS key/,
  ],
  ['objects that are too large', { target: { s3: { ...bucket, size: 2 ** 30 } } }, /"target.s3.size" /],
  [
    'the ARN of an object',
    { target: { s3: { ...bucket, bucket_arn: 'arn:aws:s3:::b/x' } } },
    /"target.s3.bucket_arn" .*names no resource of the kind expected/,
  ],
  [
    'two targets',
    {
      target: {
        ...kinesis(arn).target,
        firehose: {
          delivery_stream_arn: 'arn:aws:firehose:us-east-1:123456789012:deliverystream/x',
          auth: { creds },
        },
      },
    },
    /2 targets/,
  ],
  ['no auth', { target: { kinesis: { stream_arn: arn } } }, /"target.kinesis" lacks "auth"/],
  ['an empty auth', kinesis(arn, {}), /exactly one of role and creds, and has 0/],
  [
    'two of them',
    kinesis(arn, { creds, role: { role_arn: 'arn:aws:iam::123456789012:role/r' } }),
    /and has 2/,
  ],
  [
    'no secret',
    kinesis(arn, { creds: { aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE' } }),
    /lacks "aws_secret_access_key"/,
  ],
  ['an invalid key id', kinesis(arn, { creds: { ...creds, aws_access_key_id: 'a b' } }), /letters, digits/],
  ...[
    'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    'wJalrXUtnFEMIxK7MDENGxbPxRfiCYEXAMPLEKEY',
    'WJALRXUTNFEMIXK7MDENGXBPXRFICYEXAMPLEKEY',
    '0123456789abcdef0123456789abcdef01234567',
    'wJalrXUtnFEMIxK7MDENGxbPxRfiCYEXAMPLE',
  ].map(
    (aws_access_key_id): Row => [
      `a secret key as key id: ${aws_access_key_id}`,
      kinesis(arn, { creds: { ...creds, aws_access_key_id } }),
      /"target.kinesis.auth.creds.aws_access_key_id" has a value that is not shown here: the form is that of a secret/,
    ],
  ),
  [
    'a key id as secret',
    kinesis(arn, { creds: { ...creds, aws_secret_access_key: 'AKIAIOSFODNN7EXAMPLE' } }),
    /aws_secret_access_key" has a value that is not shown here: the form is that of an access key id/,
  ],
  ...['a b', ' a', 'a\n', 'a\u0001', 'a\u00a0', 'a\u200b'].map(
    (secret): Row => [
      `a secret with ${JSON.stringify(secret)}`,
      kinesis(arn, { creds: { ...creds, aws_secret_access_key: secret } }),
      /"target.kinesis.auth.creds.aws_secret_access_key" has a value that is not shown here: white space and control/,
    ],
  ),
  ['an invalid secret', kinesis(arn, { creds: { ...creds, aws_secret_access_key: 5 } }), /must be a string/],
  ['another format', { ...kinesis(arn), format: 'csv' }, /"format" is "csv": the only .* "json"/],
  ['no ARN', kinesis('events'), /"target.kinesis.stream_arn" is not an ARN; an example is/],
  ['another service', kinesis('arn:aws:sqs:us-east-1:123456789012:x'), /kinesis is expected/],
  ['no region', kinesis('arn:aws:kinesis::123456789012:stream/x'), /region/],
  ['another partition', kinesis('arn:aws-cn:kinesis:us-east-1:123456789012:stream/x'), /partition/],
  ['a partition that is none', kinesis('arn:aws-x:kinesis:us-east-1:123456789012:stream/x'), /partition/],
  ['another resource', kinesis('arn:aws:kinesis:us-east-1:123456789012:consumer/x'), /resource/],
  ['no account', kinesis('arn:aws:kinesis:us-east-1:12345:stream/x'), /twelve digits/],
  [
    'a user for a role',
    kinesis(arn, { role: { role_arn: 'arn:aws:iam::123456789012:user/x' } }),
    /not the ARN of a role/,
  ],
]

const eventSubscription: Row[] = [
  ['256 characters', { description: '😀'.repeat(256) }, /at most 255 characters/],
  ['4097 characters', { metadata: 'x'.repeat(4097) }, /at most 4096 characters/],
  ['no list', { sources: {} }, /"sources" is \{\}, but must be a list/],
  ['no type', { sources: [{}] }, /"sources\[0\]" lacks "type"/],
  [
    'an unknown field of a source',
    source('log.v0', { field: 'x' }),
    /"sources\[0\]" has no field "field": did you mean "fields"\? supported are "type", "fields", "filter"/,
  ],
  [
    'a kind unlike all others',
    source('log'),
    /"sources\[0\].type" is refused: .*supported are http_request_complete.v0, .* of api_key, .*, tunnel_group_backend\.$/,
  ],
  [
    'an unknown kind',
    source('tcp_connection_close.v0'),
    /"sources\[0\].type" .*did you mean tcp_connection_closed.v0/,
  ],
  ['a kind twice', { sources: [{ type: 'log.v0' }, { type: 'log.v0' }] }, /"log.v0" appears twice/],
  ['fields of an audit kind', source('ip_policy_created.v0', { fields: ['id'] }), /takes no fields/],
  ['a filter of an audit kind', source('ip_policy_created.v0', { filter: 'true' }), /takes no filter/],
  ['a field of records in a filter of logs', source('log.v0', { filter: 'decision' }), /decision/],
  [
    'an unknown field',
    source('tcp_connection_closed.v0', { fields: ['conn.client_ib'] }),
    /"sources\[0\].fields\[0\]" .*conn.client_ip/,
  ],
  [
    'a field of another kind',
    source('tcp_connection_closed.v0', { fields: ['http.request.method'] }),
    /http_request_complete/,
  ],
  ['a field twice', source('log.v0', { fields: ['metadata', 'metadata'] }), /twice/],
  [
    'an unknown field in a filter',
    source('tcp_connection_closed.v0', { filter: 'conn.end_ts > 1' }),
    /not filterable/,
  ],
  [
    'a filter that is not an expression',
    source('tcp_connection_closed.v0', { filter: 'ev.conn.client_ip ==' }),
    /"sources\[0\].filter"/,
  ],
  ['the wrong prefix', { destination_ids: [`esb_${id26}`] }, /"destination_ids\[0\]" .*"ed_"/],
  ['one destination twice', { destination_ids: [`ed_${id26}`, `ed_${id26}`] }, /twice/],
  ['21 destinations', { destination_ids: many(21, (at) => `ed_${at}`) }, /21 entries: at most 20/],
  ['51 sources', { sources: many(51, (at) => ({ type: `k${at}` })) }, /51 entries: at most 50/],
  ['destinations as Refs', { destinations: [] }, /has no field "destinations".*destination_ids/],
]

const sshAuthority: Row[] = [
  ['another type', { private_key_type: 'dsa' }, /"private_key_type" is "dsa".*"rsa", "ecdsa", "ed25519"/],
  ['RSA of 1024 bits', { private_key_type: 'rsa', key_size: 1024 }, /"key_size" is 1024.* 2048 or 4096/],
  ['RSA on a curve', { private_key_type: 'rsa', elliptic_curve: 'P-256' }, /"elliptic_curve" is "P-256"/],
  ['a size of Ed25519', { key_size: 256 }, /"key_size" is 256, but Ed25519 keys have one size/],
  ['a curve of Ed25519', { elliptic_curve: 'nistp256' }, /only with the "private_key_type" "ecdsa"/],
  ['ECDSA of 2048 bits', { private_key_type: 'ecdsa', key_size: 2048 }, /256, 384 or 521 bits/],
  ['a curve that is none', { private_key_type: 'ecdsa', elliptic_curve: 'secp256k1' }, /nistp256, nistp384/],
  [
    'two curves',
    { private_key_type: 'ecdsa', key_size: 384, elliptic_curve: 'nistp256' },
    /"key_size" is 384, but the "elliptic_curve" is "nistp256"/,
  ],
  ['half a bit', { private_key_type: 'rsa', key_size: 2048.5 }, /"key_size" is 2048.5.*whole number/],
  ['a private key', { private_key: 'never-shown' }, /has no field "private_key"/],
  ['a public key', { public_key: 'x' }, /has no field "public_key"/],
]

/** A public key without an owner: 32 bytes of 7. */
const sshKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH'

const sshPublicKey = (body: object): Row[] => [
  ['no key', { ...body, public_key: null }, /"public_key" is required/],
  ['a key that is none', { ...body, public_key: 'x' }, /"public_key" is not an SSH public key/],
  ['a key too long', { ...body, public_key: `${sshKey} ${'x'.repeat(8192)}` }, /"public_key" is too long/],
  [
    'a private key',
    { ...body, public_key: '-----BEGIN OPENSSH PRIVATE KEY-----\nnever-shown' },
    /"public_key" is a private key/,
  ],
]

const sshCertificate = (ssh_certificate_authority_id: string): Row[] => {
  const body = { ssh_certificate_authority_id, public_key: sshKey, principals: ['me'] }
  return [
    ...sshPublicKey(body),
    ['no authority', { public_key: sshKey }, /"ssh_certificate_authority_id" is required/],
    ['another kind', { ...body, ssh_certificate_authority_id: `ca_${id26}` }, /begins with "sshca_"/],
    ['one principal for a list', { ...body, principals: 'a' }, /"principals" is "a", but must be a list/],
    ['an empty principal', { ...body, principals: [''] }, /"principals\[0\]" is ""/],
    ['a comma', { ...body, principals: ['a', 'b,c'] }, /"principals\[1\]" is "b,c": it must have no commas/],
    ['a hyphen in front', { ...body, principals: ['-a'] }, /must not begin with a hyphen/],
    ['white space', { ...body, principals: ['a b'] }, /no commas, white space/],
    ['a line end', { ...body, principals: ['a\n'] }, /no commas, white space/],
    ['a zero byte', { ...body, principals: ['a\0'] }, /NUL/],
    ['an invisible character', { ...body, principals: ['a\u200b'] }, /control characters/],
    ['256 bytes', { ...body, principals: ['x'.repeat(256)] }, /"principals\[0\]" .*at most 255/],
    ['101 principals', { ...body, principals: many(101, (at) => `p${at}`) }, /101 entries: at most 100/],
    ['no time', { ...body, valid_after: 'tomorrow' }, /"valid_after" is "tomorrow": an RFC 3339 time/],
    ['no time zone', { ...body, valid_until: '2030-01-01T00:00:00' }, /"valid_until" .*RFC 3339/],
    ['seconds', { ...body, valid_until: 1_900_000_000 }, /"valid_until" is 1900000000, but must be a string/],
    ['before time', { ...body, valid_after: '1969-12-31T23:59:59Z' }, /in the years 1970 to 9999/],
    ['the year 10000', { ...body, valid_until: '9999-12-31T23:59:59-00:01' }, /in the years 1970 to 9999/],
    ['an end in the past', { ...body, valid_until: '2000-01-01T00:00:00Z' }, /"valid_until" is "2000-01-01/],
    [
      'no time at all',
      { ...body, valid_after: '2030-01-01T00:00:00.9Z', valid_until: '2030-01-01T01:00:00+01:00' },
      /"valid_until" is "2030-01-01T00:00:00Z", but must be later than "valid_after"/,
    ],
    ['a certificate', { ...body, certificate: 'x' }, /has no field "certificate"/],
  ]
}

const sshUserCertificate = (ssh_certificate_authority_id: string): Row[] => {
  const unnamed = { ssh_certificate_authority_id, public_key: sshKey }
  const body = { ...unnamed, principals: ['me'] }
  const critical = (critical_options: unknown) => ({ ...body, critical_options })
  const extended = (extensions: unknown) => ({ ...body, extensions })
  return [
    ['nobody named', unnamed, /"principals" is required for an SSH user certificate/],
    [
      'an empty list of users',
      { ...unnamed, principals: [] },
      /"principals" has 0 entries, but must have at least 1/,
    ],
    ['a list of options', critical(['verify-required']), /"critical_options" is .*must be an object/],
    ['an unknown option', critical({ force_command: 'x' }), /"force_command".*force-command, source-address/],
    ['no command', critical({ 'force-command': '' }), /"force-command" needs a command/],
    ['a zero byte', critical({ 'force-command': 'a\0b' }), /"force-command" contains NUL/],
    ['no addresses', critical({ 'source-address': '' }), /"source-address" needs addresses/],
    ['a host', critical({ 'source-address': 'a.example' }), /"a.example" is not an IP address/],
    ['host bits', critical({ 'source-address': '10.0.0.1/8' }), /write 10\.0\.0\.0\/8/],
    ['a space', critical({ 'source-address': '10.0.0.1, 10.0.0.2' }), /" 10.0.0.2"/],
    ['a flag with a value', critical({ 'verify-required': 'yes' }), /"verify-required" takes no value/],
    ['a number', critical({ 'force-command': 5 }), /"critical_options.force-command" is 5/],
    ['an endless command', critical({ 'force-command': 'x'.repeat(4097) }), /at most 4096/],
    ['an extension with a value', extended({ 'permit-pty': 'true' }), /"permit-pty" takes no value/],
    ['a nameless extension', extended({ '': '' }), /the name "" must have 1 to 255/],
    ['a space in a name', extended({ 'permit pty': '' }), /the name "permit pty" must have/],
    ['a name too long', extended({ ['x'.repeat(256)]: '' }), /must have 1 to 255/],
    ['21 extensions', extended(Object.fromEntries(many(21, (at) => [`e${at}`, '']) as [])), /at most 20/],
  ]
}

/** Fields that can't be changed, and fields that can't be cleared. */
const abuseReport: Row[] = [
  ['no URLs', {}, /"urls" is required/],
  ['one URL for a list', { urls: 'http://a.example' }, /"urls" .*must be a list/],
  ['an empty list', { urls: [] }, /"urls" has 0 entries, but must have at least 1/],
  ['101 of them', { urls: many(101, (at) => `http://h${at}.example`) }, /101 entries: at most 100/],
  ['another scheme', { urls: ['ftp://a.example'] }, /"urls\[0\]" is "ftp:\/\/a.example"/],
  ['no URL', { urls: ['http://a.example', 'x y'] }, /"urls\[1\]" is "x y"/],
  [
    'blanks around it',
    { urls: [' http://a.example/ '] },
    /"urls\[0\]" is " http:\/\/a.example\/ ": a URL must not contain white space/,
  ],
  [
    'a line break in it',
    { urls: ['http://a.example/\nb'] },
    /"urls\[0\]" .* a URL must not contain white space/,
  ],
  ['a zero byte in it', { urls: ['http://a.example/\0'] }, /"urls\[0\]" contains NUL/],
  ['an endless URL', { urls: [`http://a.example/${'x'.repeat(8000)}`] }, /"urls\[0\]" is too long/],
  ['a decision', { urls: ['http://a.example'], status: 'PROCESSED' }, /has no field "status"/],
]

async function unchangeable(me: Caller): Promise<[string, Row[]][]> {
  const policy = await me.ipPolicy.create({})
  const other = await me.ipPolicy.create({})
  const made = async (path: string, body: object): Promise<string> =>
    `${path}/${(await me.at(path).create(body)).id}`
  const destination = await made('/event_destinations', kinesis(arn))
  return [
    [
      await made('/ip_policy_rules', { ...rule, ip_policy_id: policy.id }),
      [
        ['the action', { action: 'deny' }, /"action" is "deny", but can't be changed/],
        ['the policy', { ip_policy_id: other.id }, /"ip_policy_id" .* can't be changed/],
        ['the policy as a Ref', { ip_policy: { id: other.id } }, /"ip_policy_id" .* can't be changed/],
        ['a Ref that is none', { ip_policy: other.id }, /"ip_policy" is "ipp_.*", but must be an object/],
        [
          'a Ref with the address of another resource',
          { ip_policy: { id: policy.id, uri: other.uri } },
          /"ip_policy" is .*: the "uri" must be the one of the "id"/,
        ],
        ['the time', { created_at: 'now' }, /"created_at" is "now", but can't be changed: it is "20/],
        ['another address', { uri: other.uri }, /"uri" is ".*", but can't be changed: it is ".*"/],
        ['no CIDR', { cidr: null }, /"cidr" is required for an IP policy rule, or "list_id"/],
      ],
    ],
    [
      await made('/ip_restrictions', { type: 'dashboard', ip_policy_ids: [policy.id] }),
      [
        ['the type', { type: 'agent' }, /"type" .* can't be changed/],
        [
          'ids and other Refs',
          { ip_policy_ids: [policy.id], ip_policies: [{ id: other.id }] },
          /"ip_policies" and "ip_policy_ids" name different resources/,
        ],
        ['a Ref of another kind', { ip_policies: [{ id: 'ec_1' }] }, /"ip_policies\[0\].id" is "ec_1"/],
        ['no policies', { ip_policy_ids: null }, /can't be cleared/],
      ],
    ],
    [
      destination,
      [
        [
          'the kind',
          {
            target: {
              firehose: {
                delivery_stream_arn: 'arn:aws:firehose:us-east-1:123456789012:deliverystream/x',
                auth: { creds },
              },
            },
          },
          /kind of a destination can't be changed/,
        ],
        [
          'another key id without its secret',
          kinesis(arn, { creds: { aws_access_key_id: 'AKIAIOSFODNN7OTHERID' } }),
          /lacks "aws_secret_access_key"/,
        ],
        ['no target', { target: null }, /can't be cleared/],
        ['part of a target', { target: { kinesis: { stream_arn: arn } } }, /lacks "auth"/],
      ],
    ],
    [await made('/api_keys', {}), [['the token', { token: 'never-shown' }, /"token" .*can't be changed/]]],
    [
      await made('/credentials', {}),
      tunnelCredential.filter(([, body]) => !Object.hasOwn(body as object, 'token')),
    ],
    [
      await made('/reserved_addrs', {}),
      [
        ['the region', { region: 'eu' }, /"region" is "eu", but can't be changed/],
        [
          'the address',
          { addr: '1.tcp.us.weir.localhost:1' },
          /"addr" is "1.tcp.*", but can't be changed: it is/,
        ],
        ['no region', { region: null }, /"region" .*can't be changed/],
        ...reservedAddr.filter(
          ([name, body]) => name !== 'a Ref' && !/region|addr/.test(JSON.stringify(body)),
        ),
      ],
    ],
  ]
}

t.test('bad requests', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const me = await api.account()
  await grantRight(store.parts.store, me.accountId, 'abuse_reports')
  const policy: string = (await me.ipPolicy.create({})).id
  const { id: edge } = await me.httpsEdge.create({})
  const { id: authority } = await me.sshCertificateAuthority.create({})
  const created: [string, Row[]][] = [
    ['/ip_policies', [...common, ...inBytes]],
    ['/edges/tcp', [...common, ...inBytes, ...tcpEdge, ...trafficPolicies]],
    ['/edges/https', [...common, ...inBytes, ['modules', { backend: {} }, /has no field "backend"/]]],
    [`/edges/https/${edge}/routes`, route],
    ['/backends/tunnel_group', [...common, ...inBytes, ...backend]],
    ['/ip_policy_rules', ipPolicyRule(policy)],
    ['/ip_restrictions', ipRestriction(policy)],
    ['/ip_lists', ipList],
    ['/policy_tests', policyTest],
    ['/challengers', challenger],
    ['/ssh_certificate_authorities', [...common, ...inBytes, ...sshAuthority]],
    [
      '/ssh_host_certificates',
      [...common, ...inBytes, ...sshCertificate(authority), ['extensions', { extensions: {} }, /no field/]],
    ],
    ['/ssh_user_certificates', [...sshCertificate(authority), ...sshUserCertificate(authority)]],
    ['/ssh_credentials', [...common, ...inBytes, ...sshPublicKey({})]],
    ['/event_destinations', eventDestination],
    ['/event_subscriptions', [...common, ...eventSubscription]],
    ['/api_keys', [...common, ...inBytes]],
    ['/reserved_addrs', [...common, ...inBytes, ...reservedAddr]],
    ['/reserved_domains', [...common, ...inBytes]],
    ['/tls_certificates', [...common, ...inBytes]],
    ['/certificate_authorities', [...common, ...inBytes]],
    ['/bouncers', [...common, ...inBytes]],
    ['/credentials', [...common, ...inBytes, ...tunnelCredential]],
    ['/abuse_reports', abuseReport],
  ]
  const distinct = new Set<string>()
  const check = async (method: string, path: string, rows: readonly Row[]): Promise<void> => {
    for (const [name, body, says] of rows) {
      distinct.add(`${method} ${path} ${JSON.stringify(body)}`)
      const answer = await me.raw.send(method, path, { body })
      t.equal(answer.status, 400, `${method} ${path}: ${name}`)
      t.match(answer.body.msg, says, name)
      t.notMatch(answer.text, 'never-shown', 'no secret is repeated')
    }
  }
  const made = () => store.parts.store.view.state.countsOf(me.accountId)
  const before = made()
  for (const [path, rows] of created) {
    await check('POST', path, rows)
    t.strictSame(made(), before, `nothing was made at ${path}`)
  }
  for (const [path, rows] of await unchangeable(me)) await check('PATCH', path, rows)
  const { id: tcp } = await me.tcpEdge.create({})
  await check('PUT', `/edges/tcp/${tcp}/policies`, trafficPolicies.map(asModule))
  const { id: https } = await me.httpsEdge.create({})
  const forRequests = trafficPolicies.filter(([, body]) => !JSON.stringify(body).includes('conn.end_ts'))
  await check('PUT', `/edges/https/${https}/policies`, forRequests.map(asModule))
  t.notMatch(api.log(), 'never-shown')
  t.ok(distinct.size >= 150, `${distinct.size} different requests`)
  const paths = created.map(([path]) => path.replace(edge, '{edge_id}'))
  for (const { kind, path, operations = allOperations } of resources)
    if (operations.includes('create')) t.ok(paths.includes(path), `${kind} is among them`)
})
