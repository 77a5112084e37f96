/** Reads the files of a configuration: one, or all of a directory. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, StartFault, shown } from '../../ground/core/errors.js'
import { readInput } from '../../ground/core/files/bounded-file.js'
import { isObject, type JsonObject } from '../../ground/core/json-object.js'
import { getOrMake } from '../../ground/core/maps.js'
import { insteadOf } from '../../ground/core/nearest.js'
import { readYaml } from '../../ground/core/text/yaml.js'
import { kindTable } from '../../words/client/kind-table.js'
import { Concealed } from './concealed.js'
import { leftOut, managedKinds } from './managed-kinds.js'
import { replaced, strayPlaceholders } from './placeholders.js'

/** Enough for 10,000 edges with policies. */
const fileBytesMax = 64 * 1024 * 1024
const filesMax = 1_000

/** Policy tests have two names, as for `weir test`. */
const otherNames: Readonly<Record<string, string>> = { tests: 'policy_tests' }
/** Sections that there could be, and why there are none. */
const refused = new Map(Object.entries(leftOut).map(([name, why]) => [kindTable[name]!.listName, why]))
const sections = [...managedKinds.map(({ section }) => section), ...Object.keys(otherNames)]

export interface Place {
  readonly file: string
  /** Such as `ip_policies[0].rules[2]`. */
  readonly path: string
}

/** An entry of a section. */
interface FileEntry {
  /** As it is written: what is shown of it. */
  readonly written: JsonObject
  /** With its placeholders replaced: what is compared and sent. */
  readonly values: JsonObject
  readonly place: Place
}

export class SourceFiles {
  /** By their sections, of which one may be empty. */
  readonly entries: ReadonlyMap<string, readonly FileEntry[]>
  readonly #faultAt: ReadonlyMap<string, (path: string, msg: string) => string>
  /** What the placeholders of all entries stand for. */
  readonly concealed = new Concealed()
  /** Of those that have placeholders, by file and path. */
  readonly #concealedOf = new Map<string, Concealed>()

  /** `paths`: files and directories. Throws a `StartFault` that lists what is wrong, with line and column. */
  static read(paths: readonly string[], env: NodeJS.ProcessEnv): SourceFiles {
    const files = paths.flatMap(filesAt)
    if (files.length === 0)
      throw new StartFault(`There is no .yaml, .yml or .json file in ${paths.join(', ')}.`)
    if (files.length > filesMax)
      throw new StartFault(`${paths.join(', ')} has ${files.length} files: at most ${filesMax} are allowed.`)
    return new SourceFiles(files, env)
  }

  private constructor(files: readonly string[], env: NodeJS.ProcessEnv) {
    const entries = new Map<string, FileEntry[]>()
    const faultAt = new Map<string, (path: string, msg: string) => string>()
    this.entries = entries
    this.#faultAt = faultAt
    const faults: string[] = []
    for (const file of files) {
      const read = readYaml(textOf(file), `The file ${file}`, fileBytesMax)
      if (!read.ok) {
        faults.push(...read.faults.map(({ line, column, msg }) => `${file}:${line}:${column}: ${msg}`))
        continue
      }
      faultAt.set(file, (path, msg) => {
        const { line, column } = read.faultAt(path, msg)
        return `${file}:${line}:${column}: ${msg}`
      })
      for (const { path, values, section, msg } of entriesIn(read.value)) {
        const place = { file, path }
        if (msg !== undefined) faults.push(this.fault(place, msg))
        else {
          const list = getOrMake(entries, section, (): FileEntry[] => [])
          if (values === undefined) continue
          for (const stray of strayPlaceholders(values, path))
            faults.push(this.fault({ file, path: stray.place }, stray.msg))
          const noted = this.#notes(place)
          list.push({ place, written: values, values: replaced(values, file, env, noted) })
        }
      }
    }
    if (faults.length > 0) throw new StartFault(faults.join('\n'))
  }

  /** A fault as a line: file, line, column and what is wrong there. */
  fault(place: Place, msg: string): string {
    return this.#faultAt.get(place.file)!(place.path, this.refusal(place, msg))
  }

  /** What is said against an entry, without what its placeholders stand for. */
  refusal({ file, path }: Place, msg: string): string {
    const [entry = ''] = /^\w+\[\d+\]/.exec(path) ?? []
    const own = this.#concealedOf.get(`${file} ${entry}`)
    return this.concealed.answer(own?.refusal(msg) ?? msg)
  }

  #notes({ file, path }: Place): (value: string, placeholder: string) => void {
    return (value, placeholder) => {
      this.concealed.add(value, placeholder)
      getOrMake(this.#concealedOf, `${file} ${path}`, () => new Concealed()).add(value, placeholder)
    }
  }
}

/** A JSON Schema may lie next to the files that name it. */
const isConfiguration = (name: string): boolean =>
  /\.(ya?ml|json)$/.test(name) && !name.endsWith('.schema.json')

function filesAt(path: string): string[] {
  try {
    // Standard input is one file.
    if (path === '-' || !statSync(path).isDirectory()) return [path]
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort()
    return names.filter(isConfiguration).map((name) => join(path, name))
  } catch (error) {
    throw new StartFault(`${path} can't be read: ${messageOf(error)}.`)
  }
}

function textOf(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readInput(file, fileBytesMax))
  } catch (error) {
    throw new StartFault(`The file ${file} can't be read: ${messageOf(error)}.`)
  }
}

interface RawEntry {
  readonly section: string
  readonly path: string
  /** Undefined for the section itself. */
  readonly values?: JsonObject
  /** What is wrong with it. */
  readonly msg?: string
}

function* entriesIn(value: unknown): Generator<RawEntry> {
  const wrong = (path: string, msg: string): RawEntry => ({ section: '', path, msg })
  if (value === null || value === undefined) return
  if (!isObject(value)) return yield wrong('', 'The file must be a map of sections, such as "tcp_edges".')
  for (const [name, list] of Object.entries(value)) {
    if (!sections.includes(name)) {
      const why = refused.get(name)
      const msg =
        why === undefined ? `is unknown: ${insteadOf(name, sections)}` : `can't be described: each is ${why}`
      yield wrong(name, `${shown(name)} ${msg}.`)
    } else if (!Array.isArray(list ?? [])) {
      yield wrong(name, `"${name}" must be a list.`)
    } else {
      const section = otherNames[name] ?? name
      yield { section, path: name }
      for (const [index, values] of ((list ?? []) as readonly unknown[]).entries()) {
        const path = `${name}[${index}]`
        if (isObject(values)) yield { section, path, values }
        else yield wrong(path, `"${path}" must be a map.`)
      }
    }
  }
}
