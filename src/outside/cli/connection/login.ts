/** `weir login`: keeps a key that was checked; `weir logout`: forgets it. */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { StartFault } from '../../../ground/core/errors.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../../ground/core/text/times.js'
import { NoAnswer } from '../../../management/process/running-service.js'
import * as form from '../../../management/process/setting-value.js'
import { ApiError } from '../../../words/client/client.js'
import { UsageFault } from '../guide/exit-codes.js'
import { addressOf, unknownProfile } from './access.js'
import { openApi } from './api-client.js'
import { defaultProfile, type Profile, profilesFile, readProfiles, writeProfiles } from './profiles.js'

/** More than any key has. */
const inputCharsMax = 10_000

const note = (text: string): void => void process.stderr.write(`weir: ${forTerminal(text)}\n`)

export async function login(address: string, name = defaultProfile): Promise<void> {
  const url = form.baseUrl.parse(address)
  if (url === undefined)
    throw new UsageFault(`The address is "${address}"; it must be ${form.baseUrl.allowed}.`)
  if (form.name.parse(name) === undefined)
    throw new UsageFault(`The profile is "${name}"; it must be ${form.name.allowed}.`)
  const path = profilesFile()
  // What is wrong with the file should be known before a key is asked for.
  const profiles = readProfiles(path)
  if (isPlain(url)) note(`${url} is not encrypted: the key can be read on the way.`)
  const key = form.accessToken.parse((await readKey(url)).trim())
  if (key === undefined) throw new UsageFault(`The key is malformed: it must be ${form.accessToken.allowed}.`)
  const profile = { url: addressOf(url), key }
  const state = await checked(profile)
  writeProfiles(path, new Map([...profiles, [name, profile]]))
  process.stdout.write(`${forTerminal(`Logged in to ${url} as the profile "${name}".\n${state}`)}\n`)
}

/** HTTP to another machine. */
function isPlain(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(hostname)
}

/** Whether all is well there, in a sentence; throws if the key is not valid. */
async function checked(profile: Profile): Promise<string> {
  const client = openApi({ ...profile, advice: 'give the address where it runs' })
  try {
    const answer: { readonly sentence?: unknown } | null = await client.overview()
    if (typeof answer?.sentence !== 'string') throw new SyntaxError('The answer has no sentence.')
    return sentenceForTerminal(answer.sentence)
  } catch (error) {
    // A key for one purpose, such as to publish, may see nothing.
    if (error instanceof ApiError && error.error_code === 'ERR_FORBIDDEN') return error.msg
    if (error instanceof ApiError) {
      const Fault = error.status_code >= 500 ? NoAnswer : StartFault
      throw new Fault(`${error.message} The key was not kept.`)
    }
    if (error instanceof SyntaxError)
      throw new StartFault(`What answers at ${profile.url} is not Weir: the key was not kept.`)
    throw error
  }
}

/** Of a person, without showing it; else the whole standard input. */
async function readKey(url: string): Promise<string> {
  if (process.stdin.isTTY) return await asked(`API key for ${url} (it is not shown): `)
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.length > inputCharsMax)
      throw new UsageFault('Standard input has more than a key: give it nothing else.')
  }
  return text
}

async function asked(question: string): Promise<string> {
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => reject(new StartFault('No key was given: nothing was kept.')))
      lines.once('SIGINT', () => lines.close())
    })
  } finally {
    process.stderr.write('\n')
    lines.close()
  }
}

export function logout(name = defaultProfile): void {
  const path = profilesFile()
  const profiles = new Map(readProfiles(path))
  const profile = profiles.get(name)
  if (profile === undefined) throw unknownProfile(name, [...profiles.keys()])
  profiles.delete(name)
  writeProfiles(path, profiles)
  process.stdout.write(
    `The profile "${name}" was removed. Its API key is still valid at ${profile.url}, until it is deleted there.\n`,
  )
}
