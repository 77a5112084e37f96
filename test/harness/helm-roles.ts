/** What the chart gives to the roles: their variables, with files of the Secrets that `secret.sh` prints. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Manifest, manifestsIn } from './helm.js'

export const roles = ['api', 'pipeline', 'deliver', 'decide'] as const
type Role = (typeof roles)[number]

interface ChartSecrets {
  /** The entries of each Secret. */
  readonly entries: ReadonlyMap<string, Readonly<Record<string, string>>>
  /** Where the files of a role are written. */
  readonly dir: string
}

/** `servers`: how many of NATS there are. */
export function chartSecrets(dir: string, servers = 3): ChartSecrets {
  const words = ['config/helm/secret.sh', 'weir', String(servers)]
  const manifests = manifestsIn(execFileSync('sh', words, { encoding: 'utf8' }))
  return {
    dir,
    entries: new Map(manifests.map(({ metadata, stringData }) => [metadata.name, stringData])),
  }
}

/** The variables of a role's container; the files that they name are below `secrets.dir`. */
export function environmentOf(
  manifests: readonly Manifest[],
  role: Role,
  { dir, entries }: ChartSecrets,
): Record<string, string> {
  const objectOf = (kind: string, name: string): Manifest =>
    manifests.find((each) => each.kind === kind && each.metadata.name === name)!
  const { volumes, containers } = objectOf('Deployment', `weir-${role}`)['spec'].template.spec
  const [{ env, envFrom, volumeMounts }] = containers
  const at = join(dir, role)
  mkdirSync(at)
  const mounted = volumes.find(({ name }: { name: string }) => name === volumeMounts[0].name)
  for (const { secret } of mounted.projected.sources)
    for (const { key, path } of secret.items) writeFileSync(join(at, path), entries.get(secret.name)![key]!)
  const own = env.map(({ name, value }: { name: string; value: string }) => [
    name,
    value.replace(volumeMounts[0].mountPath, at),
  ])
  const shared = envFrom.map(({ configMapRef }: Manifest) => objectOf('ConfigMap', configMapRef.name)['data'])
  return { ...Object.assign({}, ...shared), ...Object.fromEntries(own) }
}
