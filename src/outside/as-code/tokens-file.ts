/** The file that gets tokens which are shown once: a line of JSON for each, and only its owner can read it. */
import { appendFileSync, chmodSync } from 'node:fs'
import { messageOf, StartFault } from '../../ground/core/errors.js'

const mode = 0o600

/** Throws a `StartFault` if it can't be written: the tokens would be lost. */
export function openTokens(file: string): void {
  try {
    appendFileSync(file, '', { mode })
    // It may have been there, readable by others.
    chmodSync(file, mode)
  } catch (error) {
    throw new StartFault(`The file ${file} can't keep tokens: ${messageOf(error)}.`)
  }
}

interface Token {
  readonly section: string
  readonly name: string
  readonly id: string
  readonly token: string
}

export const keepToken = (file: string, token: Token): void =>
  appendFileSync(file, `${JSON.stringify(token)}\n`, { mode })
