/** Values of the chart, one set for each way to use it. */
const digest = `sha256:${'0'.repeat(64)}`
const role = {
  serviceAccountAnnotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/weir' },
  podAnnotations: { 'example.com/team': 'edge' },
  extraEnv: [{ name: 'TZ', value: 'UTC' }],
  extraVolumes: [{ name: 'files', persistentVolumeClaim: { claimName: 'files' } }],
  extraVolumeMounts: [{ name: 'files', mountPath: '/files' }],
}
const scaled = { ...role, autoscaling: { enabled: true } }

export const valueSets = {
  nothing: {},
  'everything on': {
    image: { repository: 'registry.example.com/weir', digest, pullSecrets: [{ name: 'registry' }] },
    settings: {
      WEIR_RETENTION: '24h',
      WEIR_TRUST_PROXY: '10.0.0.0/8',
      WEIR_BASE_URL: 'https://weir.example.com',
      WEIR_FILE_DIRECTORY: '/tmp',
    },
    api: { ...scaled, readinessPath: '/readyz' },
    pipeline: scaled,
    deliver: {
      ...scaled,
      extraEnv: [{ name: 'AWS_ACCESS_KEY_ID', valueFrom: { secretKeyRef: { name: 'aws', key: 'id' } } }],
    },
    decide: scaled,
    keda: { prometheusAddress: 'http://prometheus-operated.monitoring:9090' },
    nodeSelector: { 'kubernetes.io/arch': 'arm64' },
    tolerations: [{ key: 'weir', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'traffic',
    ingress: { enabled: true, className: 'nginx', host: 'weir.example.com', tlsSecret: 'weir-tls' },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    networkPolicy: { enabled: true },
    nats: { storage: { size: '1Ti', className: 'fast' } },
    clickhouse: { storage: { size: '1Ti', className: 'fast' } },
  },
  'NATS and ClickHouse of its own cluster': {
    nats: { enabled: false },
    clickhouse: { enabled: false },
    settings: { WEIR_NATS_REPLICAS: '3', WEIR_PARTITIONS: '4', CLICKHOUSE_CLUSTER: 'weir' },
    networkPolicy: { enabled: true, natsTo: [{ to: [{ ipBlock: { cidr: '10.1.0.0/16' } }] }] },
  },
  'Secrets of other names': {
    secrets: {
      existingSecret: 'all',
      secretKey: { secret: 'vault', key: 'weir.key' },
      bootstrapToken: { secret: '', key: '' },
      clickhouseUrl: { secret: 'clickhouse-operator', key: 'url' },
      trialNatsUrl: { secret: '', key: '' },
      natsUrl: { decide: { secret: 'nats-of-decide', key: 'url' } },
    },
    nats: { existingSecret: 'nats-users', accountsSecret: 'nats-accounts' },
    clickhouse: { existingSecret: 'clickhouse-users' },
  },
  'one server of NATS, with partitions': {
    nats: { replicas: 1, accountsConfigMap: 'nats-accounts' },
    settings: { WEIR_PARTITIONS: '4' },
    maxUnavailable: '',
    topologyKeys: [],
  },
  'the step of an upgrade in which writers are stopped': {
    fullnameOverride: 'edge',
    api: { replicas: 0, autoscaling: { enabled: true } },
    deliver: { replicas: 0 },
  },
} as const

/** Values that the chart refuses, and what the message names. */
export const refusedValues: readonly (readonly [what: string, values: object, named: RegExp])[] = [
  ['a secret among the settings', { settings: { WEIR_SECRET_KEY: 'x' } }, /WEIR_SECRET_KEY/],
  ['an address with a password there', { settings: { NATS_URL: 'nats://a:b@c' } }, /NATS_URL/],
  ['a setting that the chart sets', { settings: { WEIR_DECIDE_PORT: '1' } }, /WEIR_DECIDE_PORT/],
  ['a setting of another program', { settings: { PATH: '/' } }, /PATH/],
  ['a number, which YAML may have changed', { settings: { WEIR_RATE_LIMIT: 1200 } }, /WEIR_RATE_LIMIT/],
  [
    'a secret in clear among the variables of a role',
    { deliver: { extraEnv: [{ name: 'AWS_SECRET_ACCESS_KEY', value: 'x' }] } },
    /extraEnv/,
  ],
  ['a value that does not exist', { pipelines: { replicas: 3 } }, /pipelines/],
  ['two servers of NATS, which can not agree', { nats: { replicas: 2 } }, /replicas/],
  ['partitions without a mapping', { settings: { WEIR_PARTITIONS: '4' } }, /nats\.accountsConfigMap/],
  [
    'an autoscaler by metrics without a Prometheus',
    { pipeline: { autoscaling: { enabled: true } } },
    /keda\.prometheusAddress/,
  ],
  ['an Ingress for no name', { ingress: { enabled: true } }, /ingress\.host/],
]
