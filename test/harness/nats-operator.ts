/** A nats-server in operator mode: tokens (JWT) as NATS signs them, and files of credentials. */
import { nkeys } from '@nats-io/nats-core'

type KeyPair = ReturnType<typeof nkeys.createUser>

/** https://docs.nats.io/running-a-nats-service/nats_admin/security/jwt */
function jwtOf(by: KeyPair, of: KeyPair, nats: object, more: object = {}): string {
  const coded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = coded({ typ: 'JWT', alg: 'ed25519-nkey' })
  const names = { iss: by.getPublicKey(), sub: of.getPublicKey() }
  const body = coded({ jti: 'x', iat: 1, ...names, ...more, nats: { version: 2, ...nats } })
  const signature = by.sign(Buffer.from(`${head}.${body}`))
  return `${head}.${body}.${Buffer.from(signature).toString('base64url')}`
}

export const seedText = (pair: KeyPair): string => new TextDecoder().decode(pair.getSeed())

const unlimited = { subs: -1, data: -1, payload: -1 }
const jetstream = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 }

/** An operator with one account. `settings`: of the server. */
export function natsOperator() {
  const [operator, account, system] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
  ] as const
  const counts = { conn: -1, imports: -1, exports: -1, wildcards: true, leaf: -1 }
  const claims = (each: KeyPair, limits: object): string =>
    `${each.getPublicKey()}: ${jwtOf(operator, each, { type: 'account', limits: { ...unlimited, ...counts, ...limits } })}`
  return {
    settings: `operator: ${jwtOf(operator, operator, { type: 'operator' })}
    system_account: ${system.getPublicKey()}
    resolver: MEMORY
    resolver_preload: { ${claims(account, jetstream)}, ${claims(system, {})} }`,
    /** The text of a file of credentials. `exp`: seconds since the epoch. */
    creds: (user = nkeys.createUser(), more: { readonly exp?: number } = {}): string =>
      `-----BEGIN NATS USER JWT-----
${jwtOf(account, user, { type: 'user', ...unlimited }, more)}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${seedText(user)}
------END USER NKEY SEED------
`,
  }
}
