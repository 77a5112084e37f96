/** What a process of the API adds to the file for those who help, by the names of its files: without secrets. */
import { hiding } from '../../../delivery/outgoing/hidden-secrets.js'
import { inputConsumer } from '../../../delivery/wire/names.js'
import { neededStreams } from '../../../delivery/wire/streams.js'
import { messageOf } from '../../../ground/core/errors.js'
import type { DoctorParts } from './doctor.js'
import { processReports } from './process-checks.js'

export interface BundleParts
  extends Pick<DoctorParts, 'nats' | 'partitions' | 'stateOf' | 'overviewOf' | 'findingsOf'> {
  readonly settings: Readonly<Record<string, string>>
  /** Prometheus' text. */
  readonly metrics: () => Promise<string>
  /** The secrets of all destinations, as they were given. */
  readonly secrets: () => readonly string[]
}

/** Each costs seconds, and most deployments have one. */
const accountsMax = 10

export async function bundleFiles(parts: BundleParts): Promise<Readonly<Record<string, string>>> {
  const texts: readonly (readonly [string, () => Promise<string>])[] = [
    ['service-settings.json', async () => json(parts.settings)],
    ['processes.json', async () => json(await processReports(parts))],
    ['metrics.txt', parts.metrics],
    ['streams.json', async () => json(await streamsOf(parts))],
    ['accounts.json', async () => json(await accountsOf(parts))],
  ]
  const hide = hiding(parts.secrets())
  const files = await Promise.all(
    texts.map(async ([name, text]) => [name, hide(await text().catch(notRead))] as const),
  )
  return Object.fromEntries(files)
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const notRead = (error: unknown): string => `It was not read: ${messageOf(error)}\n`

async function streamsOf({ nats, partitions }: BundleParts): Promise<object> {
  const names = neededStreams(partitions.all).api
  const read = new Set(partitions.all.map(({ recordsStream }) => recordsStream))
  const streams = await Promise.all(
    names.map(async (name) => {
      const info = await nats.streamInfo(name).catch(notRead)
      const pipeline = read.has(name)
        ? await nats.consumerInfo(name, inputConsumer).catch(notRead)
        : undefined
      if (info === undefined || typeof info === 'string') return [name, info ?? 'missing']
      const { config, state, cluster } = info
      return [name, { config, state, cluster, ...(pipeline !== undefined && { pipeline }) }]
    }),
  )
  return Object.fromEntries(streams)
}

async function accountsOf({ stateOf, overviewOf, findingsOf }: BundleParts): Promise<object> {
  const all = [...stateOf().accounts.keys()]
  const accounts = await Promise.all(
    all.slice(0, accountsMax).map(async (id) => {
      const [overview, findings] = await Promise.all([
        overviewOf(id).catch(notRead),
        findingsOf(id).catch(notRead),
      ])
      return [id, { overview, findings }]
    }),
  )
  return { accounts: Object.fromEntries(accounts), left_out: Math.max(0, all.length - accountsMax) }
}
