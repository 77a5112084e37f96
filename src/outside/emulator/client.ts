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

export type EmulatorClient = ReturnType<typeof emulatorClient>

/** A role session, with the external id and name of its request. */
interface ShownSession {
  readonly roleArn: string
  readonly externalId: string | null
  readonly sessionName: string
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>

const pageEvents = 1000

/** `url` as the emulator prints it. */
export function emulatorClient(url: string) {
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

  const page = (resource: ResourceName, after: number, limit: number) =>
    call<ReceivedPage>('GET', 'received', { ...resource, after, limit })

  /** Everything received, page by page, in the order of arrival. */
  async function* received(resource: ResourceName): AsyncGenerator<ReceivedEvent> {
    for (let next: number | null = 0; next !== null; ) {
      const { events, next: following }: ReceivedPage = await page(resource, next, pageEvents)
      yield* events
      next = following
    }
  }

  return {
    addKey: (key: KeyPair) => call<void>('POST', 'keys', {}, key),
    addRole: (role: RoleSpec) => call<void>('POST', 'roles', {}, role),
    /** Creates the stream, queue or other resource, again if it exists; returns its ARN. */
    addResource: async (resource: ResourceSpec) =>
      (await call<{ arn: string }>('POST', 'resources', {}, resource)).arn,
    /** Open role sessions. */
    sessions: () => call<ShownSession[]>('GET', 'sessions'),
    counts: (resource: ResourceName) => call<ReceivedCounts>('GET', 'counts', { ...resource }),
    /** How often each event id arrived; `repeatedOnly`: only those that arrived more than once. */
    ids: (resource: ResourceName, repeatedOnly = false) =>
      call<Record<string, number>>('GET', 'ids', { ...resource, repeated: repeatedOnly }),
    page,
    received,
    /** Returns the id that clears the fault. */
    addFault: async (fault: FaultSpec) => (await call<{ id: number }>('POST', 'faults', {}, fault)).id,
    faults: () => call<ActiveFault[]>('GET', 'faults'),
    clearFaults: (id?: number) => call<void>('DELETE', 'faults', { id }),
    /** Sets the emulator's clock ahead, or back. */
    setClock: (offsetMs: number) => call<void>('POST', 'clock', {}, { offsetMs }),
    stats: () => call<Stats>('GET', 'stats'),
  }
}
