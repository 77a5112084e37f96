/** Which signals are exported, and where to. */
import t from 'tap'
import { loadSettings } from '../../../src/management/process/settings.js'
import { targetsOf } from '../../../src/management/telemetry/signals.js'

const base = 'http://collector:4318'
const at = (url: string, headers = {}) => ({ url, headers })

const cases = [
  { name: 'nothing is set', set: {}, want: {} },
  {
    name: 'an address for all',
    set: { OTEL_EXPORTER_OTLP_ENDPOINT: `${base}/` },
    want: { traces: at(`${base}/v1/traces`), metrics: at(`${base}/v1/metrics`), logs: at(`${base}/v1/logs`) },
  },
  {
    name: 'an address for all, and one signal elsewhere, by the whole of its address',
    set: {
      OTEL_EXPORTER_OTLP_ENDPOINT: base,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://other/in?of=weir',
      OTEL_LOGS_EXPORTER: 'none',
    },
    want: { traces: at(`${base}/v1/traces`), metrics: at('https://other/in?of=weir') },
  },
  {
    name: 'an exporter and no address',
    set: { OTEL_METRICS_EXPORTER: 'otlp' },
    want: { metrics: at('http://localhost:4318/v1/metrics') },
  },
  {
    name: 'headers for all, and others for one',
    set: {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20one, x-of=a',
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'authorization=Basic%20YTpi',
    },
    want: {
      traces: at('http://localhost:4318/v1/traces', { authorization: 'Bearer one', 'x-of': 'a' }),
      logs: at('http://localhost:4318/v1/logs', { authorization: 'Basic YTpi' }),
    },
  },
  {
    name: 'all is switched off',
    set: { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'true' },
    want: {},
  },
]

for (const { name, set, want } of cases)
  t.test(name, (t) => {
    t.strictSame(targetsOf(loadSettings({ environment: set }).settings), want)
    t.end()
  })

const refused = [
  {
    name: 'another protocol',
    set: { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    want: /OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": it must be one of http\/protobuf/,
  },
  {
    name: 'another exporter',
    set: { OTEL_METRICS_EXPORTER: 'prometheus' },
    want: /it must be one of otlp, none/,
  },
  { name: 'a share above 1', set: { OTEL_TRACES_SAMPLER_ARG: '1.5' }, want: /a number from 0 to 1/ },
  {
    name: 'an address with a password',
    set: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:hunter2@collector' },
    want: /without credentials/,
  },
  {
    name: 'a header without a value',
    set: { OTEL_EXPORTER_OTLP_HEADERS: 'hunter2' },
    want: /OTEL_EXPORTER_OTLP_HEADERS is malformed/,
  },
  {
    name: 'a header with a line break',
    set: { OTEL_EXPORTER_OTLP_HEADERS: 'a=hunter2%0d%0a' },
    want: /OTEL_EXPORTER_OTLP_HEADERS is malformed/,
  },
  {
    name: 'too many attributes',
    set: { OTEL_RESOURCE_ATTRIBUTES: Array.from({ length: 65 }, (_, n) => `a${n}=b`).join(',') },
    want: /up to 64 pairs/,
  },
]

for (const { name, set, want } of refused)
  t.test(`refused: ${name}`, (t) => {
    t.throws(() => loadSettings({ environment: set }), want)
    t.throws(() => loadSettings({ environment: set }), { message: /^(?!.*hunter2)/ })
    t.end()
  })
