/** Where the API is, and the key for it: the environment, or a profile, or the service on this data directory. */
import { NoAnswer, readRuntime } from '../../../management/process/running-service.js'
import type { Settings } from '../../../management/process/settings.js'
import { UsageFault } from '../guide/exit-codes.js'
import { defaultProfile, type Profile, profilesFile, readProfiles } from './profiles.js'

export interface Access extends Profile {
  /** What to do if nothing answers there. */
  readonly advice: string
}

/**
 * A key from the environment takes precedence over every profile. A profile is used as a whole: its key is sent to no other
 * address than the one that it was kept for.
 */
export function accessOf(settings: Settings): Access {
  const { url, key, profile: named } = settings.client
  if (key !== undefined) {
    if (named !== undefined)
      process.stderr.write(`weir: WEIR_API_KEY is set, so the profile "${named}" is not used.\n`)
    return { url: url ?? urlOfService(settings), key, advice: 'set WEIR_API_URL to where it runs' }
  }
  const profile = profileNamed(named)
  if (profile === undefined) {
    if (url === undefined) urlOfService(settings)
    throw new UsageFault(
      'There is no API key: weir login <address> keeps one, or set WEIR_API_KEY to the token of one.',
    )
  }
  if (url !== undefined && addressOf(url) !== profile.url)
    throw new UsageFault(
      `WEIR_API_URL is ${url}, but the profile "${named ?? defaultProfile}" has a key for ${profile.url}: unset WEIR_API_URL, choose with --profile, or set WEIR_API_KEY, too.`,
    )
  return { ...profile, advice: 'log in where it runs (weir login <address>)' }
}

export const addressOf = (url: string): string => new URL(url).href.replace(/\/+$/, '')

function urlOfService({ data }: Settings): string {
  const url = readRuntime(data.dir)?.apiUrl
  if (url === undefined)
    throw new NoAnswer(
      `No service runs on ${data.dir}: set WEIR_DATA_DIR, or WEIR_API_URL to its address, or log in (weir login <address>).`,
    )
  return url
}

/** Without a name, the default one if there is one. */
function profileNamed(name: string | undefined): Profile | undefined {
  const profiles = readProfiles(profilesFile())
  const profile = profiles.get(name ?? defaultProfile)
  if (profile === undefined && name !== undefined) throw unknownProfile(name, [...profiles.keys()])
  return profile
}

export const unknownProfile = (name: string, known: readonly string[]): UsageFault =>
  new UsageFault(
    `There is no profile "${name}"${known.length === 0 ? '' : `, but ${known.join(', ')}`}: weir login <address> --profile ${name} makes it.`,
  )
