/**
 * Encrypts secrets at rest: AES-256-GCM, bound to their owner, so that a sealed value can't be opened elsewhere. While the key is
 * being rotated there are several: the first one seals, each may open.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { StartFault } from './errors.js'

const ivBytes = 12
const tagBytes = 16

export class Sealer {
  #keys: readonly Buffer[]
  readonly #reload: (() => readonly Uint8Array[]) | undefined

  /** Each key has 32 bytes. `reload`: the keys as they are now, read again when a value can't be opened. */
  constructor(keys: readonly Uint8Array[], reload?: () => readonly Uint8Array[]) {
    this.#keys = checkedKeys(keys)
    this.#reload = reload
  }

  /** Uses the keys as they are now. Throws, and goes on with those of before, if they can't be read. */
  reload(): void {
    if (this.#reload !== undefined) this.#keys = checkedKeys(this.#reload())
  }

  get keyCount(): number {
    return this.#keys.length
  }

  /** Identifies the key that seals without revealing it. */
  get fingerprint(): string {
    return fingerprintOf(this.#first)
  }

  /** Is it the fingerprint of one of the keys? */
  knows(fingerprint: string): boolean {
    return this.#tried((key) => {
      if (fingerprintOf(key) !== fingerprint) throw new Error('Another key.')
      return true
    }, false)
  }

  get #first(): Buffer {
    return this.#keys[0]!
  }

  /** Keyed digest: equal for the same secret of the same owner, useless without the key. */
  digest(secret: string, belongsTo: string): string {
    return digestBy(this.#first, secret, belongsTo)
  }

  /** Is it the digest of the secret, by any of the keys? */
  isDigestOf(digest: unknown, secret: string, belongsTo: string): boolean {
    return this.#keys.some((key) => digestBy(key, secret, belongsTo) === digest)
  }

  seal(secret: string, belongsTo: string): string {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#first, iv).setAAD(Buffer.from(belongsTo))
    const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `v1.${sealed.toString('base64url')}`
  }

  /** Did the key that seals now seal it? */
  isCurrent(sealed: string, belongsTo: string): boolean {
    try {
      opened(this.#first, sealed, belongsTo)
      return true
    } catch {
      return false
    }
  }

  /** Throws if the text or its owner differ, or no key is the right one. */
  unseal(sealed: string, belongsTo: string): string {
    return this.#tried((key) => opened(key, sealed, belongsTo))
  }

  /** The result of the first key with which `use` does not throw; another process may have made a new key meanwhile. */
  #tried<T>(use: (key: Buffer) => T, otherwise?: T): T {
    const known = this.#keys
    let failure: unknown
    for (let isAgain = false; ; isAgain = true) {
      for (const key of this.#keys) {
        try {
          return use(key)
        } catch (error) {
          failure = error
        }
      }
      if (!isAgain) this.reload()
      const isNew = this.#keys.some((key) => !known.some((each) => each.equals(key)))
      if (!isAgain && isNew) continue
      if (otherwise !== undefined) return otherwise
      throw failure
    }
  }
}

function checkedKeys(keys: readonly Uint8Array[]): readonly Buffer[] {
  if (keys.length === 0 || keys.some(({ length }) => length !== 32))
    throw new Error('A sealing key has 32 bytes.')
  return keys.map((key) => Buffer.from(key))
}

const fingerprintOf = (key: Buffer): string =>
  createHash('sha256').update('weir key fingerprint').update(key).digest('base64url').slice(0, 16)

const digestBy = (key: Buffer, secret: string, belongsTo: string): string =>
  createHmac('sha256', key).update(`${belongsTo.length}:${belongsTo}`).update(secret).digest('base64url')

function opened(key: Buffer, sealed: string, belongsTo: string): string {
  if (!sealed.startsWith('v1.')) throw new Error('A sealed value of an unknown version.')
  const bytes = Buffer.from(sealed.slice(3), 'base64url')
  if (bytes.length < ivBytes + tagBytes) throw new Error('A sealed value that was cut short.')
  const options = { authTagLength: tagBytes }
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), options)
    .setAAD(Buffer.from(belongsTo))
    .setAuthTag(bytes.subarray(-tagBytes))
  return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
}

/** Throws a `StartFault` if stored secrets were sealed with another key; `stored` is undefined if there are none. */
export function expectSameKey(stored: string | undefined, sealer: Pick<Sealer, 'knows'>): void {
  if (stored === undefined || sealer.knows(stored)) return
  throw new StartFault(
    'The secret key is not the one this database was made with: set the same WEIR_SECRET_KEY on every host.',
  )
}
