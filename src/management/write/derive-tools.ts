/** Tools that declarations derive values with: sealing and unsealing secrets, creating tokens, drawing addresses. */
import { randomToken } from '../../ground/core/clock.js'
import type { Turns } from '../../ground/core/concurrency.js'
import { unavailable } from '../../ground/core/errors.js'
import { hashToken } from '../../ground/core/ids.js'
import type { Sealer } from '../../ground/core/seal.js'
import { drawTcpAddress, type TcpAddressSpace } from '../../words/resource/fields/tcp-address.js'
import type { DeriveTools, PrepareTools, SshAnyHost } from '../../words/resource/kind/define.js'
import type { Store } from '../store/store.js'

export const newToken = (): string => `weir_${randomToken(32)}`

export interface DeriveParts {
  readonly sealer: Sealer
  readonly tcpAddresses: TcpAddressSpace
  readonly sshAnyHost: SshAnyHost
}

/** `once` receives the fields that only the first answer shows. */
export const deriveTools = (
  { sealer, tcpAddresses }: DeriveParts,
  once: Record<string, unknown>,
): DeriveTools => ({
  seal: (secret, belongsTo) => sealer.seal(secret, belongsTo),
  digest: (secret, belongsTo) => sealer.digest(secret, belongsTo),
  newToken: () => {
    const token = newToken()
    return { token, hash: hashToken(token) }
  },
  drawTcpAddress: (region) => drawTcpAddress(tcpAddresses, region),
  tcpDomain: tcpAddresses.domain,
  answerOnce: (fields) => {
    Object.assign(once, fields)
  },
})

/** Secrets are read from the store, because a view can lag behind the resource that was just found there. */
export const prepareTools = (
  tools: DeriveTools,
  { sealer, sshAnyHost }: Pick<DeriveParts, 'sealer' | 'sshAnyHost'>,
  store: Pick<Store, 'sealedValue'>,
  turns: Turns,
): PrepareTools => ({
  ...tools,
  sshAnyHost,
  inTurn: (work) => turns.take(work),
  unsealed: async ({ kind, id, field, belongsTo }) => {
    const sealed = await store.sealedValue(kind, id, field)
    if (sealed === undefined)
      throw unavailable(`The secret of ${id} was not found: ${id} may have just been deleted.`)
    return sealer.unseal(sealed, belongsTo)
  },
})
