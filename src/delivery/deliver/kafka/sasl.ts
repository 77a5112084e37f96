/** How Weir authenticates to a broker. */
import { pbkdf2Sync } from 'node:crypto'
import type { Connection } from '@platformatic/kafka'
import type { Protocol } from './protocol.js'

export interface Sasl {
  readonly mechanism: SaslMechanism
  readonly username: string
  readonly password: string
}

export const saslMechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const
type SaslMechanism = (typeof saslMechanisms)[number]

/** The server chooses how often it is hashed, which blocks the process: about a tenth of a second. */
const iterationsMax = 100_000

export async function authenticate(
  connection: Connection,
  { mechanism, username, password }: Sasl,
  { saslHandshakeV1, saslAuthenticateV2, saslPlain, saslScramSha }: Protocol,
): Promise<void> {
  await saslHandshakeV1.api.async(connection, mechanism.toUpperCase())
  const { api } = saslAuthenticateV2
  if (mechanism === 'plain') {
    await saslPlain.authenticate(api, connection, username, password)
    return
  }
  const algorithm = mechanism === 'scram-sha-256' ? 'SHA-256' : 'SHA-512'
  const hi: typeof saslScramSha.hi = ({ keyLength, algorithm: hash }, text, salt, iterations) => {
    if (iterations > iterationsMax) throw new Error(`The server asks for ${iterations} iterations.`)
    return pbkdf2Sync(text, salt, iterations, keyLength, hash)
  }
  await saslScramSha.authenticate(api, connection, algorithm, username, password, {
    ...saslScramSha.defaultCrypto,
    hi,
  })
}
