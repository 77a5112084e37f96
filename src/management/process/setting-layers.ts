/**
 * The layers of settings: what a file and the environment set, as texts. Any setting may be in any layer, and a secret also by
 * the path of a file that holds it.
 */
import { readFileSync } from 'node:fs'
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { messageOf, shown } from '../../ground/core/errors.js'
import { nearestNames } from '../../ground/core/nearest.js'
import { declared, declaredOfKinds, type Setting, type SettingGroup } from './declared-settings.js'
import { secretSettings } from './role-secrets.js'
import { fileVariable, SettingsError } from './secret-files.js'

const all: readonly Setting<unknown>[] = [
  ...Object.values<SettingGroup>(declared),
  ...Object.values(declaredOfKinds),
].flatMap((group) => Object.values(group))

/** A variable, and the setting that it gives a value, or the file that holds it. */
interface Variable {
  readonly env: string
  readonly setting: Setting<unknown>
  readonly isFile: boolean
}

const variables: readonly Variable[] = all.flatMap((setting) => {
  const { env } = setting
  const value = { env, setting, isFile: false }
  return secretSettings.has(env) ? [value, { env: fileVariable(env), setting, isFile: true }] : [value]
})

/** The names of all settings, as environment variables. */
export const settingNames: readonly string[] = variables.map(({ env }) => env)

const fileKey = (env: string): string =>
  env
    .replace(/^WEIR_/, '')
    .toLowerCase()
    .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const variableOfKey = new Map(variables.map((variable) => [fileKey(variable.env), variable]))

/** The text of a value, or of the path of its file; `name` is its origin, such as `config/mine.jsonc:12: port` or `WEIR_PORT`. */
export interface RawValue {
  readonly text: string
  readonly isFile: boolean
  readonly name: string
  readonly layer: 'default' | 'file' | 'environment'
}

export type Layer = ReadonlyMap<Setting<unknown>, RawValue>
export type Environment = Readonly<Record<string, string | undefined>>

export const didYouMean = (name: string, known: Iterable<string>): string => {
  const [nearest] = nearestNames(name, known, 1)
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`
}

/** Is it one typing error away from a setting? */
export const isSlip = (name: string): boolean => nearestNames(name, settingNames, 1, 1).length > 0

/** What the environment sets. */
export function readEnvironment(environment: Environment): Layer {
  const layer = new Map<Setting<unknown>, RawValue>()
  for (const { env, setting, isFile } of variables) {
    const text = environment[env]
    if (text !== undefined && text !== '')
      setOnce(layer, setting, { text, isFile, name: env, layer: 'environment' })
  }
  return layer
}

/** Refuses a secret that a layer has twice: once as it is, and once in a file. */
function setOnce(layer: Map<Setting<unknown>, RawValue>, setting: Setting<unknown>, value: RawValue): void {
  const other = layer.get(setting)
  if (other !== undefined)
    throw new SettingsError(`${other.name} and ${value.name} are both set: one must go.`)
  layer.set(setting, value)
}

/** What a file of settings sets. */
export function readFile(path: string, layer: 'default' | 'file'): Layer {
  const content = readText(path)
  const lineOf = (offset: number) => content.slice(0, offset).split('\n').length
  const errors: ParseError[] = []
  const root = treeOf(path, content, errors)
  const [syntax] = errors
  if (syntax !== undefined) {
    throw new SettingsError(
      `${path}:${lineOf(syntax.offset)}: the file is not JSON: ${printParseErrorCode(syntax.error)}.`,
    )
  }
  if (root?.type !== 'object') throw new SettingsError(`${path}:1: the file must hold one JSON object.`)
  const raw = new Map<Setting<unknown>, RawValue>()
  const keys = new Set<string>()
  for (const member of root.children ?? []) {
    const [keyNode, valueNode] = member.children as [Node, Node]
    const key = String(keyNode.value)
    const place = `${path}:${lineOf(keyNode.offset)}`
    const variable = variableOfKey.get(key)
    if (variable === undefined) {
      throw new SettingsError(
        `${place}: unknown setting ${shown(key)}.${didYouMean(key, variableOfKey.keys())}`,
      )
    }
    if (keys.has(key)) throw new SettingsError(`${place}: ${key} appears twice in the file.`)
    keys.add(key)
    const { setting, isFile } = variable
    const name = `${place}: ${key}`
    const text = textOf(valueNode, setting, name)
    if (text !== undefined) setOnce(raw, setting, { text, isFile, name, layer })
  }
  return raw
}

function treeOf(path: string, content: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(content, errors, { allowTrailingComma: true })
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error
    throw new SettingsError(`${path}:1: the file is nested too deeply.`)
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
  } catch (error) {
    throw new SettingsError(`The settings file ${path} can't be read: ${messageOf(error)}.`)
  }
}

/** A value in a file, as the text it would have in the environment; `null` means unset in this file. */
function textOf(node: Node, setting: Setting<unknown>, name: string): string | undefined {
  const value: unknown = getNodeValue(node)
  if (value === null) return undefined
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  const isTexts = Array.isArray(value) && value.every((element) => typeof element === 'string')
  if (isTexts && setting.form.list) return value.join(',')
  throw new SettingsError(`${name} is of the wrong type: it must be ${setting.form.allowed}.`)
}
