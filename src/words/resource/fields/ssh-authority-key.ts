/** The key pair of an SSH certificate authority: checks what is requested, and generates it. */
import {
  createPrivateKey,
  type ECKeyPairOptions,
  type ED25519KeyPairOptions,
  generateKeyPair,
  type RSAKeyPairOptions,
} from 'node:crypto'
import { promisify } from 'node:util'
import { badRequest } from '../../../ground/core/errors.js'
import {
  type SshCurve,
  type SshKeyType,
  sshCurveNames,
  sshCurves,
  sshPublicKeyOf,
  sshPublicKeyText,
} from '../../../ground/pki/ssh-public-key.js'
import type { PrepareTools } from '../kind/define.js'

/** The fields of a request that describe the key. */
interface KeyRequest {
  readonly private_key_type: SshKeyType
  readonly key_size: number | null
  readonly elliptic_curve: string | null
}

type ChosenKey =
  | { readonly type: 'rsa'; readonly bits: number }
  | { readonly type: 'ecdsa'; readonly curve: SshCurve }
  | { readonly type: 'ed25519' }

const rsaBits = [2048, 4096]
const rsaBitsDefault = 2048
const curveDefault = 'nistp256'

/** A curve by OpenSSH's name, or by NIST's in any letter case: `nistp256`, `P-256`, `p256`. */
export function parseCurve(text: string): SshCurve | undefined {
  const [, bits] = /^(?:nist)?p-?(\d{3})$/i.exec(text) ?? []
  return sshCurveNames.find((name) => name === `nistp${bits}`)
}

/** Throws if size or curve contradict the type or each other. */
export function chosenKey({ private_key_type: type, key_size, elliptic_curve }: KeyRequest): ChosenKey {
  if (type !== 'ecdsa' && elliptic_curve !== null) {
    throw badRequest(
      `"elliptic_curve" is "${elliptic_curve}", but is allowed only with the "private_key_type" "ecdsa".`,
    )
  }
  if (type === 'ecdsa') return { type, curve: chosenCurve(key_size, elliptic_curve) }
  if (type === 'rsa') {
    const bits = key_size ?? rsaBitsDefault
    if (rsaBits.includes(bits)) return { type, bits }
    throw badRequest(`"key_size" is ${bits}, but an RSA key has ${rsaBits.join(' or ')} bits.`)
  }
  if (key_size === null) return { type }
  throw badRequest(`"key_size" is ${key_size}, but Ed25519 keys have one size: leave it out.`)
}

/** A size determines the curve, too. */
function chosenCurve(bits: number | null, text: string | null): SshCurve {
  const named = text === null ? undefined : parseCurve(text)
  if (bits === null) return named ?? curveDefault
  const sized = sshCurveNames.find((name) => sshCurves[name].bits === bits)
  if (sized === undefined) {
    throw badRequest(`"key_size" is ${bits}, but an ECDSA key has 256, 384 or 521 bits.`)
  }
  if (named === undefined || named === sized) return sized
  throw badRequest(
    `"key_size" is ${bits}, but the "elliptic_curve" is "${text}": leave one out, or make them agree.`,
  )
}

/** Generated in other threads, a few pairs at a time. */
export async function generateAuthorityKey(chosen: ChosenKey, tools: Pick<PrepareTools, 'inTurn'>) {
  const privateKeyPem = await tools.inTurn(() => generated(chosen))
  const publicKey = sshPublicKeyOf(createPrivateKey(privateKeyPem))
  return { publicKey: { public_key: sshPublicKeyText(publicKey), key_type: publicKey.type }, privateKeyPem }
}

const generate: typeof generateKeyPair.__promisify__ = promisify(generateKeyPair)

/**
 * Generated as text: on Node 20, exporting a key object that was just generated on an elliptic curve can hang forever.
 */
const asText: ED25519KeyPairOptions<'pem', 'pem'> = {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
}

async function generated(chosen: ChosenKey): Promise<string> {
  if (chosen.type === 'rsa') {
    const options: RSAKeyPairOptions<'pem', 'pem'> = { modulusLength: chosen.bits, ...asText }
    return (await generate('rsa', options)).privateKey
  }
  if (chosen.type === 'ecdsa') {
    const options: ECKeyPairOptions<'pem', 'pem'> = { namedCurve: sshCurves[chosen.curve].name, ...asText }
    return (await generate('ec', options)).privateKey
  }
  return (await generate('ed25519', asText)).privateKey
}
