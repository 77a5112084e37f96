/** The tiles and words of web servers, and of services that take events over HTTP. */
import type { KindForm, SetupStep, Words } from '../kind/form.js'

export const httpWords: Words = {
  url: {
    label: 'Address (URL)',
    help: 'Weir sends events there with POST. User, password and tokens have fields of their own.',
  },
  auth: { label: 'How Weir signs in', help: 'Sent in the header Authorization.' },
  'auth.bearer': { label: 'Token' },
  'auth.bearer.token': { label: 'Token', help: 'Stored encrypted, never shown.' },
  'auth.basic': { label: 'User and password' },
  'auth.basic.username': { label: 'User' },
  'auth.basic.password': { label: 'Password', help: 'Stored encrypted, never shown.' },
  secret_headers: {
    label: 'Headers with secrets',
    help: 'For keys that are sent in a header of their own. Stored encrypted, never shown.',
  },
  body: {
    label: 'Form of a request',
    help: 'Several events share a request unless it is one event per request.',
    choices: {
      ndjson: 'a line of JSON per event',
      array: 'a JSON array of events',
      single: 'one event per request',
      elasticsearch: 'bulk API of Elasticsearch and OpenSearch',
      splunk: 'HTTP Event Collector of Splunk',
      loki: 'push API of Grafana Loki',
    },
    unset: 'default: a line of JSON per event',
  },
  gzip: { label: 'Compress requests (gzip)', help: 'The server must accept it.', isRare: true },
  content_type: {
    label: 'Content-Type',
    help: 'Replaces the one that belongs to the form of the request.',
    isRare: true,
  },
  headers: {
    label: 'Further headers',
    help: 'They are shown to everyone who may read this account: secrets belong above.',
    isRare: true,
  },
  signing: {
    label: 'Signature',
    help: 'Lets the server check that a request is from Weir (Standard Webhooks).',
    isRare: true,
  },
  'signing.secret': {
    label: 'Signing secret',
    help: 'whsec_ and 24 to 64 bytes in base64. Stored encrypted, never shown.',
  },
  labels: {
    label: 'Labels of the stream in Loki',
    help: 'service_name: weir, unless others are given.',
    isRare: true,
  },
}

const readsAnswer: SetupStep = {
  text: 'Answer with 2xx once the events are stored. Weir repeats what is answered with 429 or 5xx, so an event can come twice, with the same event_id.',
}

const sample = `// node server.mjs
import { createServer } from 'node:http'
createServer((request, response) => {
  let body = ''
  request.on('data', (part) => { body += part })
  request.on('end', () => {
    for (const line of body.trim().split('\\n')) console.log(JSON.parse(line))
    response.writeHead(204).end()
  })
}).listen(8080)`

const own: KindForm = {
  id: 'http',
  name: 'Web server',
  purpose: 'A program of yours, or any service that takes JSON over HTTP (a webhook).',
  needs: 'a URL that Weir can reach',
  mark: 'M4 5h16v6H4zM4 13h16v6H4zM7 8h.5M7 16h.5M11 8h6M11 16h6',
  steps: () => [
    {
      text: 'Let the server take POST requests at the URL. For a first look, this prints what arrives:',
      copy: { what: 'the program', text: sample },
    },
    readsAnswer,
    {
      text: 'A server in a private network, or on this machine, must be allowed by the operator of Weir: WEIR_HTTP_PRIVATE_NETWORKS=127.0.0.0/8, for example.',
    },
  ],
}

const splunk: KindForm = {
  id: 'http_splunk',
  name: 'Splunk',
  purpose: 'Search events beside your other logs, over the HTTP Event Collector.',
  needs: 'a token of the HTTP Event Collector',
  mark: 'M5 5l8 7-8 7M13 19h6',
  begin: { body: 'splunk', gzip: true, secret_headers: { Authorization: 'Splunk ' } },
  steps: () => [
    {
      text: 'In Splunk: Settings → Data inputs → HTTP Event Collector → New Token. Choose the source type _json, and leave “indexer acknowledgment” off.',
    },
    {
      text: 'The address is that of the collector. On Splunk Cloud, the host is http-inputs-<stack>.splunkcloud.com, without a port.',
      copy: { what: 'the address', text: 'https://splunk.example.com:8088/services/collector/event' },
    },
    {
      text: 'Put the token behind “Splunk ” among the headers with secrets.',
      copy: { what: 'the header', text: 'Authorization: Splunk 00000000-0000-0000-0000-000000000000' },
    },
  ],
}

const elasticsearch: KindForm = {
  id: 'http_elasticsearch',
  name: 'Elasticsearch or OpenSearch',
  purpose: 'Search events and draw them in Kibana or Dashboards. Each is stored once.',
  needs: 'an API key that may write to an index',
  mark: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 21 21M8 9h5M8 12h5',
  begin: { body: 'elasticsearch', gzip: true, secret_headers: { Authorization: 'ApiKey ' } },
  steps: () => [
    {
      text: 'In Kibana’s Dev Tools, create a key that may write there and nothing else. The answer has it as “encoded”.',
      copy: {
        what: 'the request',
        text: 'POST /_security/api_key\n{"name": "weir", "role_descriptors": {"weir": {"indices": [\n  {"names": ["weir-events*"], "privileges": ["create_doc", "auto_configure"]}]}}}',
      },
    },
    {
      text: 'The address names the index or data stream, and ends in _bulk.',
      copy: { what: 'the address', text: 'https://elasticsearch.example.com:9200/weir-events/_bulk' },
    },
    {
      text: 'Put the encoded key behind “ApiKey ”. For OpenSearch, remove that header, and sign in with user and password.',
    },
  ],
}

const loki: KindForm = {
  id: 'http_loki',
  name: 'Grafana Loki',
  purpose: 'Look at events in Grafana, beside your logs and metrics.',
  needs: 'the address of Loki; for Grafana Cloud a token, too',
  mark: 'M4 20V10M9 20V6M14 20v-8M19 20V4M3 20h18',
  begin: { body: 'loki', gzip: true, labels: { service_name: 'weir' } },
  steps: () => [
    {
      text: 'The address is Loki’s push API.',
      copy: { what: 'the address', text: 'http://loki.example.com:3100/loki/api/v1/push' },
    },
    {
      text: 'On Grafana Cloud: open your stack, then Loki → Details. The user is the number there, the password a token with the scope logs:write (Generate now).',
      link: { text: 'Grafana Cloud', url: 'https://grafana.com/orgs' },
    },
    { text: 'If your Loki has several tenants, add the header X-Scope-OrgID under “More options”.' },
  ],
}

const datadog: KindForm = {
  id: 'http_datadog',
  name: 'Datadog',
  purpose: 'Search events and raise alarms beside your other logs.',
  needs: 'an API key of Datadog',
  mark: 'M4 18V6h16v12zM7 15l3-4 3 2 4-5',
  begin: { body: 'array', gzip: true, secret_headers: { 'DD-API-KEY': '' } },
  steps: () => [
    {
      text: 'In Datadog: Organization Settings → API Keys → New Key. Put it behind “DD-API-KEY: ”.',
      link: { text: 'API keys', url: 'https://app.datadoghq.com/organization-settings/api-keys' },
    },
    {
      text: 'The address is the logs intake of your site, such as http-intake.logs.datadoghq.eu in Europe.',
      copy: {
        what: 'the address',
        text: 'https://http-intake.logs.datadoghq.com/api/v2/logs?ddtags=source:weir',
      },
    },
  ],
}

export const httpForms: readonly KindForm[] = [own, splunk, elasticsearch, loki, datadog]
