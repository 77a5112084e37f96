/** The secrets that this machine knows, so that they can be searched for in what leaves it. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../../delivery/nats-server/files.js'
import { isSecretName, secretSettings } from './role-secrets.js'
import { fileVariable } from './secret-files.js'
import { environment, type Settings } from './settings.js'

/** Shorter ones are part of ordinary words. */
const charsMin = 6

export function knownSecrets(settings: Settings): string[] {
  const { data, api, client, nats, clickhouse, trial } = settings
  const urls = [...(nats.servers ?? []), ...(trial.natsServers ?? []), clickhouse.url ?? '']
  const set = Object.entries(environment()).flatMap(([name, value = '']) =>
    isSecretName(name) ? [value] : [],
  )
  const files = [...secretSettings].flatMap((env) => {
    const path = environment()[fileVariable(env)]
    return path === undefined ? [] : (readOrNothing(path) ?? [])
  })
  const given = [data.secretKey, api.bootstrapToken, client.key, ...set, ...files, ...ownFiles(data.dir)]
  const texts = [...given.filter((text) => text !== undefined), ...urls, ...set].flatMap((text) => [
    text,
    ...credentialsIn(text),
  ])
  return [...new Set(texts)].filter((text) => text.length >= charsMin && !isPlainUrl(text))
}

/** The secret key, and the passwords of the users of the local NATS. */
function ownFiles(dir: string): string[] {
  const users = join(dir, 'nats', 'users')
  const names = readNames(users)
  const urls = names.flatMap((name) => readOrNothing(join(users, name)) ?? [])
  return [...(readOrNothing(join(dir, 'secret.key')) ?? []), ...urls]
}

function readNames(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

/** A file that this user may not read holds no secret that this process could show. */
function readOrNothing(path: string): string[] | undefined {
  try {
    const text = readIfPresent(path)
    return text === undefined ? undefined : [text]
  } catch {
    return undefined
  }
}

/** The parts of addresses before the `@`, as they are written and as they are meant. */
const credentialsIn = (text: string): string[] =>
  [...text.matchAll(/\/\/([^@/\s]*)@/g)].flatMap(([, credentials = '']) => {
    const password = credentials.slice(credentials.indexOf(':') + 1)
    return [password, decoded(password)]
  })

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** An address without credentials is no secret. */
const isPlainUrl = (text: string): boolean => /^[a-z]+:\/\/[^@\s]*$/i.test(text)
