/** Encrypts secrets at rest: AES-256-GCM, bound to their owner, so that a sealed value can't be opened elsewhere. */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { StartFault } from './errors.js'

const ivBytes = 12
const tagBytes = 16

export class Sealer {
  readonly #key: Buffer

  /** `key`: 32 bytes. */
  constructor(key: Uint8Array) {
    if (key.length !== 32) throw new Error('A sealing key has 32 bytes.')
    this.#key = Buffer.from(key)
  }

  /** Identifies the key without revealing it. */
  get fingerprint(): string {
    return createHash('sha256')
      .update('weir key fingerprint')
      .update(this.#key)
      .digest('base64url')
      .slice(0, 16)
  }

  /** Keyed digest: equal for the same secret of the same owner, useless without the key. */
  digest(secret: string, belongsTo: string): string {
    const mac = createHmac('sha256', this.#key)
    return mac.update(`${belongsTo.length}:${belongsTo}`).update(secret).digest('base64url')
  }

  seal(secret: string, belongsTo: string): string {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(belongsTo))
    const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `v1.${sealed.toString('base64url')}`
  }

  /** Throws if the key, the text or its owner differ. */
  unseal(sealed: string, belongsTo: string): string {
    if (!sealed.startsWith('v1.')) throw new Error('A sealed value of an unknown version.')
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    if (bytes.length < ivBytes + tagBytes) throw new Error('A sealed value that was cut short.')
    const options = { authTagLength: tagBytes }
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, ivBytes), options)
      .setAAD(Buffer.from(belongsTo))
      .setAuthTag(bytes.subarray(-tagBytes))
    return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
  }
}

/** Throws a `StartFault` if stored secrets were sealed with another key; `stored` is undefined if there are none. */
export function expectSameKey(stored: string | undefined, own: string): void {
  if (stored === undefined || stored === own) return
  throw new StartFault(
    'The secret key is not the one this database was made with: set the same WEIR_SECRET_KEY on every host.',
  )
}
