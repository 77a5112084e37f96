/** Answers of another system, as they were saved in files. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, StartFault } from '../../../ground/core/errors.js'
import { readInput } from '../../../ground/core/files/bounded-file.js'
import { isNestedTooDeep } from '../../../ground/core/text/json-nesting.js'
import { syntaxErrorIndex } from '../../../ground/core/text/json-place.js'
import { sizeText } from '../../../ground/core/text/plural.js'

const filesMax = 1_000
/** Of all files together. */
export const inputBytesMax = 64 * 1024 * 1024
const tooLarge = `at most ${sizeText(inputBytesMax)} are allowed in all`

export interface Document {
  /** What places in it begin with; empty if there is one document only. */
  readonly name: string
  readonly value: unknown
}

/** All files at a path, and when the latest of them was written; standard input, `-`, is as old as `nowMs`. */
export function readDocuments(
  path: string,
  nowMs: number,
): { readonly documents: readonly Document[]; readonly writtenAtMs: number } {
  if (path === '-')
    return { documents: [{ name: '', value: parsed(textOf(path, inputBytesMax), path) }], writtenAtMs: nowMs }
  const files = filesAt(path)
  if (files.length === 0) throw new StartFault(`There is no .json file in ${path}.`)
  if (files.length > filesMax)
    throw new StartFault(`${path} has ${files.length} files: at most ${filesMax} are allowed.`)
  let bytesLeft = inputBytesMax
  const documents = files.map(({ file, name }) => {
    const text = textOf(file, bytesLeft)
    bytesLeft -= Buffer.byteLength(text)
    return { name, value: parsed(text, file) }
  })
  return { documents, writtenAtMs: Math.max(...files.map(({ writtenAtMs }) => writtenAtMs)) }
}

interface FoundFile {
  readonly file: string
  readonly name: string
  readonly writtenAtMs: number
}

function filesAt(path: string): FoundFile[] {
  try {
    const { mtimeMs } = statSync(path)
    if (!statSync(path).isDirectory()) return [{ file: path, name: '', writtenAtMs: mtimeMs }]
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .sort()
    return names.map((name) => {
      const file = join(path, name)
      return { file, name: `${name} `, writtenAtMs: statSync(file).mtimeMs }
    })
  } catch (error) {
    throw new StartFault(`${path} can't be read: ${messageOf(error)}.`)
  }
}

function textOf(file: string, bytesMax: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readInput(file, bytesMax, tooLarge))
  } catch (error) {
    throw new StartFault(`The file ${file} can't be read: ${messageOf(error)}.`)
  }
}

/** `what`: a file or an address. A message of the parser would repeat a part of the text, which may hold a secret. */
export function parsed(text: string, what: string): unknown {
  if (isNestedTooDeep(text)) throw new StartFault(`${what} is nested too deeply.`)
  try {
    return JSON.parse(text)
  } catch {
    const index = syntaxErrorIndex(text)
    throw new StartFault(
      `${what} is not JSON${index === undefined ? '' : ` from character ${index + 1} on`}.`,
    )
  }
}
