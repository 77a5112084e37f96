/** Connections to the local nats-server by a login, which its user of the system account may see. */
import { jsonOf } from '../../ground/core/bytes.js'
import { shown } from '../../ground/core/errors.js'
import { openNats } from '../../ground/nats/nats.js'
import { systemUrl } from './server-config.js'

export interface LoginUse {
  readonly connections: number
  /** The names that programs give to their connections. */
  readonly programs: readonly string[]
}

interface Answer {
  /** `num_connections`: of those asked for. */
  readonly data?: {
    readonly num_connections?: number
    readonly connections?: readonly { readonly name?: string }[]
  }
}

const connectionsSubject = '$SYS.REQ.SERVER.PING.CONNZ'
const answerWithinMs = 2_000
/** The most that a server answers with unless it is asked for more. */
const connectionsMax = 1_024

/** By the name of each login. `dir`: that of the server. */
export async function usesOfLogins(
  dir: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, LoginUse>> {
  const uses = new Map<string, LoginUse>()
  const url = systemUrl(dir)
  if (url === undefined || names.length === 0) return uses
  const nats = await openNats({ servers: [url], name: 'weir credentials', replicas: 1, isUpNow: true })
  try {
    for (const user of names) {
      const question = JSON.stringify({ auth: true, user, limit: connectionsMax })
      const { data } = jsonOf<Answer>(await nats.request(connectionsSubject, question, answerWithinMs))
      const programs = new Set((data?.connections ?? []).map(({ name = '' }) => name))
      uses.set(user, {
        connections: data?.num_connections ?? 0,
        programs: [...programs].filter(Boolean).map((name) => shown(name)),
      })
    }
  } finally {
    await nats.close()
  }
  return uses
}
