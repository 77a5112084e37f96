/** A client of the emulator's control interface: `fetch` and nothing else. */
import type {
  ActiveFault,
  FaultSpec,
  KeyPair,
  ReceivedCounts,
  ReceivedEvent,
  ReceivedPage,
  ResourceName,
  ResourceSpec,
  RoleSpec,
  Stats,
} from './wire.js'

export interface EmulatorClient {
  addKey(key: KeyPair): Promise<void>
  removeKey(accessKeyId: string): Promise<void>
  addRole(role: RoleSpec): Promise<void>
  removeRole(roleArn: string): Promise<void>
  /** Creates the stream, delivery stream or log group, again if it exists; returns its ARN. */
  addResource(resource: ResourceSpec): Promise<string>
  removeResource(resource: ResourceName): Promise<void>
  /** Open role sessions, with the external id and name of their requests. */
  sessions(): Promise<{ roleArn: string; externalId: string | null; sessionName: string }[]>
  expireSessions(): Promise<void>
  counts(resource: ResourceName): Promise<ReceivedCounts>
  /** How often each event id arrived; `repeatedOnly`: only those that arrived more than once. */
  ids(resource: ResourceName, repeatedOnly?: boolean): Promise<Record<string, number>>
  page(resource: ResourceName, after: number, limit: number): Promise<ReceivedPage>
  /** Everything received, page by page, in the order of arrival. */
  received(resource: ResourceName): AsyncIterable<ReceivedEvent>
  /** Returns the id that clears the fault. */
  addFault(fault: FaultSpec): Promise<number>
  faults(): Promise<ActiveFault[]>
  clearFaults(id?: number): Promise<void>
  stats(): Promise<Stats>
  /** Forgets what was received and counted, and every fault; keys, roles and resources stay. */
  clear(): Promise<void>
  reset(): Promise<void>
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

const pageEvents = 1000

/** `url` as the emulator prints it. */
export function emulatorClient(url: string): EmulatorClient {
  async function call<T>(method: string, path: string, query: Query = {}, body?: unknown): Promise<T> {
    const address = new URL(`/_emulator/${path}`, url)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) address.searchParams.set(name, String(value))
    }
    const response = await fetch(
      address,
      body === undefined ? { method } : { method, body: JSON.stringify(body) },
    )
    const answer = (await response.json()) as T & { error?: string }
    if (!response.ok) throw new Error(`The emulator refused ${method} ${path}: ${answer.error}`)
    return answer
  }

  const page = (resource: ResourceName, after: number, limit: number): Promise<ReceivedPage> =>
    call('GET', 'received', { ...resource, after, limit })

  async function* received(resource: ResourceName): AsyncGenerator<ReceivedEvent> {
    for (let next: number | null = 0; next !== null; ) {
      const { events, next: following }: ReceivedPage = await page(resource, next, pageEvents)
      yield* events
      next = following
    }
  }

  return {
    addKey: (key) => call('POST', 'keys', {}, key),
    removeKey: (accessKeyId) => call('DELETE', 'keys', { accessKeyId }),
    addRole: (role) => call('POST', 'roles', {}, role),
    removeRole: (roleArn) => call('DELETE', 'roles', { roleArn }),
    addResource: async (resource) => (await call<{ arn: string }>('POST', 'resources', {}, resource)).arn,
    removeResource: (resource) => call('DELETE', 'resources', { ...resource }),
    sessions: () => call('GET', 'sessions'),
    expireSessions: () => call('POST', 'sessions/expire'),
    counts: (resource) => call('GET', 'counts', { ...resource }),
    ids: (resource, repeatedOnly = false) => call('GET', 'ids', { ...resource, repeated: repeatedOnly }),
    page,
    received,
    addFault: async (fault) => (await call<{ id: number }>('POST', 'faults', {}, fault)).id,
    faults: () => call('GET', 'faults'),
    clearFaults: (id) => call('DELETE', 'faults', { id }),
    stats: () => call('GET', 'stats'),
    clear: () => call('POST', 'clear'),
    reset: () => call('POST', 'reset'),
  }
}
