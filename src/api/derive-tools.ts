/** What declarations of resources derive values with: secrets sealed and unsealed, tokens made. */
import { randomToken } from '../core/clock.js'
import type { Turns } from '../core/concurrency.js'
import { unavailable } from '../core/errors.js'
import { hashToken } from '../core/ids.js'
import type { Sealer } from '../core/seal.js'
import type { DeriveTools, PrepareTools } from '../resource/define.js'
import { drawTcpAddress, type TcpAddressSpace } from '../resource/tcp-address.js'
import type { Store } from '../store/store.js'

export interface DeriveParts {
  readonly sealer: Sealer
  readonly tcpAddresses: TcpAddressSpace
}

/** `once` is given what is answered once. */
export const deriveTools = (
  { sealer, tcpAddresses }: DeriveParts,
  once: Record<string, unknown>,
): DeriveTools => ({
  seal: (secret, belongsTo) => sealer.seal(secret, belongsTo),
  digest: (secret, belongsTo) => sealer.digest(secret, belongsTo),
  newToken: () => {
    const token = `weir_${randomToken(32)}`
    return { token, hash: hashToken(token) }
  },
  drawTcpAddress: (region) => drawTcpAddress(tcpAddresses, region),
  tcpDomain: tcpAddresses.domain,
  answerOnce: (fields) => {
    Object.assign(once, fields)
  },
})

/** The secret is read where it is stored: a view may be behind the resource that was just found there. */
export const prepareTools = (
  tools: DeriveTools,
  sealer: Sealer,
  store: Pick<Store, 'sealedValue'>,
  turns: Turns,
): PrepareTools => ({
  ...tools,
  inTurn: (work) => turns.take(work),
  unsealed: async ({ kind, id, field, belongsTo }) => {
    const sealed = await store.sealedValue(kind, id, field)
    if (sealed === undefined) throw unavailable(`The secret of ${id} is not there, or gone with it.`)
    return sealer.unseal(sealed, belongsTo)
  },
})
