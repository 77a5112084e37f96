/**
 * The Helm chart: `helm lint`, `helm template`, and each object against the schemas of Kubernetes; then what the objects say to
 * Weir and NATS. Skipped without Go, which builds Helm. Nothing here runs in a cluster.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { Books } from '../../../src/delivery/books/books.js'
import { booksMetrics } from '../../../src/delivery/books/metrics.js'
import { healthPaths } from '../../../src/ground/core/telemetry/health.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { secretSettings, secretsOf } from '../../../src/management/process/role-secrets.js'
import { fileVariable } from '../../../src/management/process/secret-files.js'
import { settingNames } from '../../../src/management/process/setting-layers.js'
import { loadSettings, localNatsServer } from '../../../src/management/process/settings.js'
import { Checks } from '../../harness/checks.js'
import { Helm, helmProgram, type Manifest, manifestsIn, openConforms } from '../../harness/helm.js'
import { chartSecrets, environmentOf, roles } from '../../harness/helm-roles.js'
import { refusedValues, valueSets } from '../../harness/helm-values.js'
import { tempDir } from '../../harness/temp-dir.js'

const found = helmProgram()
const here = { skip: 'missing' in found ? found.missing : false }
const helm = new Helm(t, 'missing' in found ? '' : found.program)
const rendered = Object.entries('missing' in found ? {} : valueSets).map(([name, values]) => ({
  name,
  manifests: helm.manifests(values),
}))
const [plain = [], full = [], , renamed = []] = rendered.map(({ manifests }) => manifests)

const ofKind = (manifests: readonly Manifest[], ...kinds: string[]) =>
  manifests.filter(({ kind }) => kinds.includes(kind))
const podsOf = (manifests: readonly Manifest[]) =>
  ofKind(manifests, 'Deployment', 'StatefulSet').map(({ metadata, spec }) => ({
    name: metadata.name,
    pod: spec.template,
    container: spec.template.spec.containers[0],
  }))

t.test('helm lint, strictly', here, (t) => {
  for (const [name, values] of Object.entries(valueSets)) {
    const { status, stdout, stderr } = helm.lint(values)
    t.equal(status, 0, `${name}: ${stdout}${stderr}`)
  }
  t.end()
})

t.test('every object fits its schema', here, (t) => {
  const opened = openConforms(t)
  if ('missing' in opened) {
    t.pass('compared', { skip: opened.missing })
    t.end()
    return
  }
  for (const [name, values] of Object.entries(valueSets))
    t.equal(opened.conforms(helm.template(values)), undefined, name)
  const wrong = helm.template({}).replace('allowPrivilegeEscalation:', 'allowPrivilegeEscalating:')
  t.match(opened.conforms(wrong), /allowPrivilegeEscalating/, 'a member with a typing error does not')
  t.end()
})

t.test('values that would not work are refused, by name', here, (t) => {
  for (const [what, values, named] of refusedValues) t.throws(() => helm.template(values), named, what)
  t.end()
})

t.test('settings are known to Weir, and accepted with the Secrets of secret.sh', here, (t) => {
  const secrets = chartSecrets(tempDir(t))
  for (const role of roles) {
    const environment = environmentOf(plain, role, secrets)
    for (const name of Object.keys(environment)) t.ok(settingNames.includes(name), `${role}: ${name}`)
    const { settings, warnings } = loadSettings({ environment, secrets: secretsOf[role] })
    t.strictSame(warnings, [], role)
    t.match(settings, { ops: { port: 8080 }, api: { host: '0.0.0.0', port: 8080 }, nats: { replicas: 3 } })
    t.equal(settings.nats.servers?.length, 3, `${role} knows every server`)
    t.equal(settings.decide.port, role === 'decide' ? 8081 : undefined, `${role}: the port for proxies`)
    t.equal(settings.clickhouse.url !== undefined, role === 'api', 'only the API talks to ClickHouse')
  }
  t.end()
})

t.test('a role gets the secrets that it works with, from Secrets, as files, and no others', here, (t) => {
  // Headers for a collector are given by `extraEnv`, from a Secret, if there is one.
  const isSetting = (name: string): boolean => secretSettings.has(name) && !name.startsWith('OTEL_')
  for (const role of roles) {
    const { container } = podsOf(plain).find(({ name }) => name === `weir-${role}`)!
    const files = container.env.filter(({ name }: { name: string }) => name.endsWith('_FILE'))
    t.strictSame(
      files.map(({ name }: { name: string }) => name).toSorted(),
      secretsOf[role].filter(isSetting).map(fileVariable).toSorted(),
      role,
    )
    for (const { value } of files) t.match(value, /^\/run\/secrets\/weir\/[\w-]+$/)
  }
  const names = new Set([...secretSettings, ...Object.values(secretsOf).flat()])
  for (const { name, manifests } of rendered) {
    t.strictSame(ofKind(manifests, 'Secret'), [], `${name}: a chart that made Secrets would change them`)
    for (const map of ofKind(manifests, 'ConfigMap'))
      for (const key of Object.keys(map['data'])) t.notOk(names.has(key), `${name}: ${key} in clear`)
    for (const { container } of podsOf(manifests))
      for (const { name: variable, value } of container.env)
        t.notOk(names.has(variable) && value !== undefined, `${name}: ${variable} in clear`)
  }
  const other = podsOf(renamed)
  const sources = other.flatMap(({ pod }) =>
    (pod.spec.volumes[0].projected?.sources ?? []).flatMap(({ secret }: Manifest) => secret?.name ?? []),
  )
  t.strictSame([...new Set(sources)].toSorted(), [
    'all',
    'clickhouse-operator',
    'nats-accounts',
    'nats-of-decide',
    'vault',
  ])
  t.end()
})

t.test('ports and paths are those that are served', here, (t) => {
  const checks = new Checks()
  for (const { manifests } of rendered) {
    const pods = podsOf(manifests)
    for (const { name, container } of pods) {
      const ports = container.ports.map((port: { name: string }) => port.name)
      const probes = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => container[probe])
      for (const { httpGet, tcpSocket, timeoutSeconds } of probes) {
        checks.ok(ports.includes((httpGet ?? tcpSocket).port), name)
        checks.ok(timeoutSeconds >= 5, `${name}: an answer may take 4 s`)
        if (httpGet?.port === 'http' && !name.endsWith('clickhouse'))
          checks.ok(healthPaths.includes(httpGet.path), `${name}: ${httpGet.path}`)
      }
    }
    for (const { metadata, spec } of ofKind(manifests, 'Service'))
      for (const { targetPort, port } of spec.ports) {
        const { container } = pods.find(({ name }) => name === metadata.name)!
        const served = container.ports.find((each: { name: string }) => each.name === targetPort)
        checks.equal(served?.containerPort, port, `${metadata.name}: ${targetPort}`)
      }
  }
  checks.report(t)
  const [monitor] = ofKind(full, 'ServiceMonitor')
  t.match(monitor?.['spec'].endpoints, [{ port: 'http', path: '/metrics' }])
  for (const { metadata } of ofKind(full, 'Service'))
    t.equal(metadata.labels?.[monitor?.['spec'].jobLabel], 'weir', `${metadata.name}: the job of the alerts`)
  t.ok(ofKind(full, 'Service').every(({ spec }) => spec.selector['app.kubernetes.io/name'] === 'weir'))
  t.end()
})

t.test('no pod may do more than it needs', here, (t) => {
  const checks = new Checks()
  for (const { manifests } of rendered)
    for (const { name, pod, container } of podsOf(manifests)) {
      const { securityContext, automountServiceAccountToken, enableServiceLinks } = pod.spec
      checks.equal(automountServiceAccountToken, false, `${name}: no token for Kubernetes`)
      checks.equal(enableServiceLinks, false, `${name}: no WEIR_DECIDE_PORT of a Service`)
      checks.equal(securityContext.runAsNonRoot, true, name)
      checks.ok(securityContext.runAsUser > 0, `${name}: a number, which the kubelet can check`)
      checks.equal(securityContext.seccompProfile, { type: 'RuntimeDefault' }, name)
      checks.equal(
        container.securityContext,
        { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        name,
      )
      checks.ok('memory' in container.resources.limits, `${name}: its memory does not grow without end`)
      checks.ok(
        container.volumeMounts.some((mount: { mountPath: string }) => mount.mountPath === '/tmp'),
        `${name} may write to /tmp`,
      )
    }
  checks.report(t)
  t.end()
})

t.test('network policies name parts and ports that exist', here, (t) => {
  const parts = new Set(podsOf(full).map(({ pod }) => pod.metadata.labels['app.kubernetes.io/component']))
  const policies = ofKind(full, 'NetworkPolicy')
  t.equal(policies.length, parts.size, 'each part has one')
  for (const { metadata, spec } of policies) {
    const named = JSON.stringify(spec).matchAll(/"app.kubernetes.io\/component":"(\w+)"/g)
    for (const [, part = ''] of named) t.ok(parts.has(part), `${metadata.name}: ${part}`)
    const { container } = podsOf(full).find(({ name }) => name === metadata.name)!
    const served = container.ports.map((port: { containerPort: number }) => port.containerPort)
    for (const { ports } of spec.ingress)
      for (const { port } of ports) t.ok(served.includes(port), `${metadata.name}: ${port}`)
  }
  t.end()
})

t.test('autoscalers replace fixed numbers, and ask for metrics that Weir has', here, async (t) => {
  const registry = createRegistry()
  createOccurrences({ logger: createLogger('test', 'silent'), registry })
  const metrics = `${await metricsText(registry)}${booksMetrics(new Books(), () => undefined, { targets: [], sources: [] })}`
  const scaled = ofKind(full, 'ScaledObject')
  t.equal(scaled.length, 2)
  for (const { spec } of scaled) {
    const [, name = ''] = /\((weir_\w+)\{/.exec(spec.triggers[0].metadata.query) ?? ['']
    t.ok(metrics.includes(`# TYPE ${name} gauge`), name)
  }
  const targets = ofKind(full, 'ScaledObject', 'HorizontalPodAutoscaler').map(
    ({ spec }) => spec.scaleTargetRef.name,
  )
  t.strictSame(targets.toSorted(), roles.map((role) => `weir-${role}`).toSorted())
  t.ok(ofKind(full, 'Deployment').every(({ spec }) => spec.replicas === undefined))
  const stopped = rendered.at(-1)!.manifests
  t.strictSame(ofKind(stopped, 'HorizontalPodAutoscaler'), [], 'nothing starts a role that is stopped')
  const replicas = ofKind(stopped, 'Deployment').map(({ metadata, spec }) => [metadata.name, spec.replicas])
  t.match(Object.fromEntries(replicas), { 'edge-api': 0, 'edge-deliver': 0, 'edge-pipeline': 2 })
})

t.test('a nats-server takes its configuration, with the passwords of secret.sh', here, (t) => {
  for (const at of [0, 4]) {
    const dir = tempDir(t)
    const maps = ofKind(rendered[at]!.manifests, 'ConfigMap').filter(
      ({ metadata }) => metadata.name === 'weir-nats',
    )
    const accounts = readFileSync('config/helm/files/nats-accounts.conf', 'utf8')
    const data: Record<string, string> = { 'accounts.conf': accounts, ...maps[0]?.['data'] }
    // An old server can't sync always.
    for (const [name, content] of Object.entries(data))
      writeFileSync(
        join(dir, name),
        content.replace('store_dir: "/data"', `store_dir: ${JSON.stringify(dir)}`),
      )
    const servers = data['weir.conf']?.match(/@|nats-route:/g)?.length ?? 0
    t.equal(servers, at === 0 ? 3 : 0, 'routes')
    const text = execFileSync('sh', ['config/helm/secret.sh'], { encoding: 'utf8' })
    const secret = manifestsIn(text).find(({ metadata }) => metadata.name === 'weir-nats')!
    const env = { ...secret['stringData'], POD_NAME: 'weir-nats-0' }
    const checked = spawnSync(localNatsServer() ?? '', ['-t', '-c', join(dir, 'weir.conf')], {
      env,
      encoding: 'utf8',
    })
    t.equal(checked.status, 0, checked.stderr)
  }
  t.end()
})

t.test('images are those of the Dockerfile and of docker-compose.yml', here, (t) => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true })
  const images = Object.fromEntries(podsOf(plain).map(({ name, container }) => [name, container.image]))
  t.equal(images['weir-nats'], services['nats-1'].image)
  t.equal(images['weir-clickhouse'], services.clickhouse.image)
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const role of roles) t.equal(images[`weir-${role}`], `weir:${version}`)
  t.equal(podsOf(full)[0]?.container.image, `registry.example.com/weir@sha256:${'0'.repeat(64)}`)
  t.end()
})

t.test('an installation says how to go on, with names that exist', here, (t) => {
  for (const { name, manifests } of rendered) {
    const notes = helm.notes(valueSets[name as keyof typeof valueSets])
    const named = [...notes.matchAll(/\b(deployment|service)\/([\w-]+)/g)]
    t.equal(named.length, 5, `${name}: ${notes}`)
    for (const [, kind = '', of] of named) {
      const found = manifests.some((each) => each.kind.toLowerCase() === kind && each.metadata.name === of)
      t.ok(found, `${name}: ${kind}/${of}`)
    }
  }
  t.match(helm.notes({}), /get secret weir .*bootstrap-token.*until then, they get 400/s)
  t.match(helm.notes(valueSets['everything on']), /\(now 10\.0\.0\.0\/8\)/)
  t.match(helm.notes(valueSets['Secrets of other names']), /printed the first API key to the log/)
  t.end()
})
