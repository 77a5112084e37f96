/**
 * Start here: all commands. Each is declared in a file of `cli/`, which `main.ts` calls, and loads its work when it runs.
 *
 * What the help of each command ends with: an example, what exit code 1 means there, and the page of the documents. The
 * table of exit codes in `docs/cli.md` is made from it, too.
 */

export interface Guidance {
  /** As typed behind `weir`. */
  readonly example: string
  /** A file below `docs`, and the section. */
  readonly page: string
  /** What exit code 1 means; undefined if it only means that something was refused. */
  readonly found?: string
  /** When it needs a key, if it does not always, or never. */
  readonly access?: string
  /** What exit code 2 means besides wrong usage. */
  readonly differs?: string
}

/** Commands that use the API with a key, with those below them. */
export const keyed = [
  ...['status', 'tap', 'top', 'decisions', 'record', 'why', 'rules', 'lint'],
  ...['export', 'plan', 'apply', 'try', 'destination', 'dead', 'replay'],
]

/** Commands of an operator, for which the process that has the store carries them out. */
export const operated = [
  'changes',
  'sql',
  'console',
  'account',
  'key',
  'abuse',
  'doctor',
  'store',
  'backup',
  'secret-key',
  'credentials',
]

const example = (example: string, page: string, more: Partial<Guidance> = {}): Guidance => ({
  example,
  page,
  ...more,
})

const deadAccess = { access: 'Without --all, it needs an API key' }
const importing = { found: 'with --strict: an item is not taken' }
const failing = 'the trial failed, or was cancelled'

/** By the words of the command, in the order of the help. */
export const guide: Readonly<Record<string, Guidance>> = {
  serve: example('serve', 'operating.md#start-and-stop'),
  api: example('api', 'scale.md#several-machines'),
  pipeline: example('pipeline', 'scale.md#several-machines'),
  decide: example('decide', 'scale.md#several-machines'),
  deliver: example('deliver', 'scale.md#several-machines'),
  demo: example('demo --once', 'README.md#two-commands', {
    found: 'with --once: a check of the demo does not hold',
  }),
  'nats-config': example('nats-config > weir.conf', 'ingress.md#nats-users-and-rights'),

  status: example('status', 'api.md#is-all-well', {
    found: 'something needs a hand, or is not known',
  }),
  tap: example('tap --filter "decision != \'allow\'"', 'api.md#decisions-as-they-happen'),
  top: example('top', 'api.md#decisions-as-they-happen'),
  decisions: example('decisions --client 203.0.113.9 --since 7d', 'api.md#what-was-decided'),
  rules: example('rules --since 7d ipp_…', 'policies.md#ip-policies'),
  'rules check': example('rules check 203.0.113.9', 'policies.md#ip-policies'),
  record: example('record 01KAFZR7DA0T4CH30SW7DJ5M3B', 'api.md#what-was-decided'),
  why: example('why --client 203.0.113.9 --server ssh.example.com:22', 'api.md#why-was-it-blocked'),
  lint: example('lint --strict', 'policies.md#findings', {
    found: 'something does not do what it says; with --strict, anything was found',
  }),
  changes: example('changes --since 1h --json', 'api.md#changes'),
  sql: example('sql "select id, description from ip_policies"', 'cli.md#json-and-sql'),
  console: example('console', 'console.md#sign-in'),

  export: example('export --output weir.yaml', 'as-code.md#three-commands', {
    access: 'Without --schema, it needs an API key',
  }),
  plan: example('plan ./weir.yaml --prune --tests --try 24h', 'as-code.md#the-effect-of-a-change', {
    found: 'a test failed, or the trial did',
    differs: 'something differs',
  }),
  apply: example('apply ./weir.yaml --tokens ./tokens', 'as-code.md#how-it-is-applied'),
  import: example('import ngrok ./answers --output weir.yaml', 'moving-in.md#how-it-works', importing),
  'import ngrok': example('import ngrok ./answers --output weir.yaml', 'from-ngrok.md#import', importing),
  'import crowdsec': example('import crowdsec decisions.json', 'moving-in.md#crowdsec', importing),
  'import cloudflare-lists': example(
    'import cloudflare-lists ./lists --output weir.yaml',
    'moving-in.md#lists-of-cloudflare',
    importing,
  ),
  'import outpost': example('import outpost destinations.json', 'moving-in.md#outpost', importing),
  test: example('test ./policies.yaml --junit tests.xml', 'policies.md#policy-tests', {
    access: 'Without a file, it needs an API key',
    found: 'a test failed',
  }),
  try: example('try rules ipp_… --file draft.json --since 24h', 'cli.md#try-a-draft', { found: failing }),
  'try policies': example('try policies edghts_… --file draft.json', 'cli.md#try-a-draft', {
    found: failing,
  }),
  'try ip-restriction': example('try ip-restriction edgtcp_… --file draft.json', 'cli.md#try-a-draft', {
    found: failing,
  }),
  'try rules': example('try rules ipp_… --file ranges.txt --action deny', 'cli.md#try-a-draft', {
    found: failing,
  }),
  'try restriction': example('try restriction ipx_… --file draft.json', 'cli.md#try-a-draft', {
    found: failing,
  }),
  'try subscription': example('try subscription --file draft.json', 'cli.md#try-a-draft', {
    found: failing,
  }),
  account: example('account list', 'cli.md#commands-of-an-operator'),
  'account create': example('account create --name acme', 'cli.md#commands-of-an-operator'),
  'account list': example('account list --json', 'cli.md#commands-of-an-operator'),
  'account grant': example('account grant --account ac_… abuse_reports', 'cli.md#commands-of-an-operator'),
  'account revoke': example('account revoke --account ac_… abuse_reports', 'cli.md#commands-of-an-operator'),
  key: example('key list', 'api.md#keys-with-less-than-everything'),
  'key create': example(
    'key create --account ac_… --rights read,decide --expires-in 90d',
    'api.md#keys-with-less-than-everything',
  ),
  'key list': example('key list --account ac_…', 'api.md#keys-with-less-than-everything'),
  abuse: example('abuse list', 'api.md#abuse-reports'),
  'abuse list': example('abuse list --all', 'api.md#abuse-reports'),
  'abuse decide': example('abuse decide abrp_… evil.example.com BANNED', 'api.md#abuse-reports'),

  publish: example('publish --format nginx --file access.log', 'ingress.md#a-proxys-log', {
    found: 'a line was refused and kept nowhere, or not all is stored',
  }),
  listen: example('listen --create', 'README.md#your-first-event', {
    access: 'With --create, it needs an API key',
  }),
  destination: example('destination status', 'alerts.md#states-of-destinations'),
  'destination status': example('destination status ed_…', 'alerts.md#states-of-destinations'),
  'destination check': example('destination check ed_…', 'destinations.md#test-and-check', {
    found: 'events can not be delivered to it',
  }),
  'destination iam-policy': example('destination iam-policy ed_…', 'destinations/aws.md#authentication'),
  'destination attempts': example('destination attempts ed_…', 'events.md#the-last-attempts'),
  'destination pause': example('destination pause ed_…', 'events.md#pause-and-resume'),
  'destination resume': example('destination resume ed_…', 'events.md#pause-and-resume'),
  ddl: example('ddl --dialect duckdb', 'analysing.md#tables-for-events'),

  doctor: example('doctor', 'doctor.md#what-is-wrong', {
    found: 'something is bad; with --strict, a warning, too',
  }),
  dead: example('dead list', 'api.md#dead-letters', deadAccess),
  'dead list': example('dead list --since 24h', 'api.md#dead-letters', deadAccess),
  'dead show': example('dead show dl_…', 'api.md#dead-letters', deadAccess),
  'dead resend': example('dead resend dl_… --file corrected.json', 'api.md#send-again-or-drop', deadAccess),
  'dead drop': example('dead drop --type record --until 7d', 'api.md#send-again-or-drop', deadAccess),
  replay: example('replay --from 4h ed_…', 'events.md#send-events-again', {
    found: 'the replay failed, or was cancelled',
  }),
  store: example('store adopt', 'operating.md#when-clickhouse-and-nats-contradict-each-other'),
  'store adopt': example('store adopt', 'operating.md#when-clickhouse-and-nats-contradict-each-other'),

  backup: example('backup ./weir-2026-11-20.tar', 'backup.md#make-one'),
  restore: example('restore ./weir-2026-11-20.tar', 'backup.md#restore-it'),
  'secret-key': example('secret-key status', 'operating.md#the-secret-key'),
  'secret-key rotate': example('secret-key rotate', 'operating.md#the-secret-key'),
  'secret-key status': example('secret-key status', 'operating.md#the-secret-key'),
  'secret-key drop': example('secret-key drop', 'operating.md#the-secret-key'),
  credentials: example('credentials status', 'operating.md#logins-of-nats'),
  'credentials rotate': example('credentials rotate --user ingress', 'operating.md#logins-of-nats'),
  'credentials status': example('credentials status', 'operating.md#logins-of-nats'),
  'credentials drop': example('credentials drop --user ingress', 'operating.md#logins-of-nats'),

  login: example('login https://weir.example.com --profile work', 'cli.md#log-in'),
  completion: example(
    'completion bash > ~/.local/share/bash-completion/completions/weir',
    'cli.md#completion',
  ),
  logout: example('logout --profile work', 'cli.md#log-in'),
}
