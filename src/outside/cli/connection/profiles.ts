/**
 * Addresses of the API with a key for each, by name, in a file that only its owner can read: what `weir login` keeps, so that
 * keys stand in no shell's history.
 */
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeWhole } from '../../../delivery/nats-server/files.js'
import { StartFault } from '../../../ground/core/errors.js'
import { userConfigDir } from '../../../management/process/settings.js'

export interface Profile {
  /** Of the API, without a slash at the end. */
  readonly url: string
  /** The token of an API key. */
  readonly key: string
}

type Profiles = ReadonlyMap<string, Profile>

export const defaultProfile = 'default'

export const profilesFile = (): string => join(userConfigDir(), 'weir', 'profiles.json')

/** Empty if there is no file. Throws an error that names the file and what is wrong, but nothing of what it holds. */
export function readProfiles(path: string): Profiles {
  const text = readOwn(path)
  if (text === undefined) return new Map()
  const profiles = parsed(text)
  if (profiles === undefined)
    throw new StartFault(`${path} is not a file of profiles: delete it, and log in again (weir login).`)
  return profiles
}

export function writeProfiles(path: string, profiles: Profiles): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeWhole(path, `${JSON.stringify({ profiles: Object.fromEntries(profiles) }, null, 2)}\n`)
}

/** The open file is looked at, so that no other can take its place in between. */
function readOwn(path: string): string | undefined {
  const file = openIfPresent(path)
  if (file === undefined) return undefined
  try {
    const { mode, uid } = fstatSync(file)
    if (process.getuid !== undefined && uid !== process.getuid())
      throw new StartFault(`${path} belongs to another user, so its keys are not used.`)
    if ((mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, '0')
      throw new StartFault(
        `${path} has the mode ${shown}, so others may use its keys: chmod 600 ${path}; and delete the keys if others had access.`,
      )
    }
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function openIfPresent(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new StartFault(`The profiles can't be read: ${message}.`)
  }
}

function parsed(text: string): Profiles | undefined {
  try {
    const { profiles } = JSON.parse(text) as { readonly profiles?: Readonly<Record<string, unknown>> | null }
    const entries = Object.entries(profiles ?? {})
    if (!profiles || !entries.every((entry): entry is [string, Profile] => isProfile(entry[1])))
      return undefined
    return new Map(entries)
  } catch {
    return undefined
  }
}

const isProfile = (value: unknown): value is Profile =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Profile).url === 'string' &&
  typeof (value as Profile).key === 'string'
