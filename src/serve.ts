/** `weir serve`: a nats-server where none is named, and every role as a process of its own, stopped in order. */
import { announceApi } from './announce.js'
import { stopSignal } from './child.js'
import { describeSettings, localNatsServer, type Settings } from './config.js'
import { lockDataDir } from './core/lock.js'
import { openNatsServer } from './core/nats-server.js'
import { ReleaseStack } from './core/release.js'
import { withoutCredentials } from './core/setting-value.js'
import { version } from './core/version.js'
import { openSupervisor, type RoleSpec } from './supervisor.js'
import { surroundings } from './surroundings.js'

const readyTimeoutMs = 60_000
const stopTimeoutMs = 12_000

export async function serve(
  settings: Settings,
  module: string,
  argumentsOf: (role: string) => string[],
): Promise<void> {
  const stop = stopSignal()
  const { logger, registry, occurrences } = surroundings(settings, 'serve')
  await using release = new ReleaseStack()
  release.own(lockDataDir(settings.data.dir))
  const natsUrl = await openNats(settings, release)
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`)
  }
  logger.info({ version, node: process.version }, 'Weir starts.')
  for (const [name, value] of Object.entries(describeSettings(settings)))
    logger.info({ name, value }, 'A setting.')
  const env = { NATS_URL: natsUrl }
  const role = (name: string, more: RoleSpec['env'] = () => ({})): RoleSpec => ({
    name,
    module,
    argv: argumentsOf(name),
    env: (last) => ({ ...env, ...more(last) }),
    readyTimeoutMs,
    stopTimeoutMs,
  })
  // A restarted API comes back where clients know it.
  const samePort: RoleSpec['env'] = (last) =>
    last?.['api'] === undefined ? {} : { WEIR_PORT: new URL(last['api']).port }
  say(`nats: ${settings.nats.servers === undefined ? natsUrl : withoutCredentials(natsUrl)}`)
  const supervisor = await openSupervisor({
    roles: [role('api', samePort), role('pipeline'), role('deliver')],
    occurrences,
    registry,
  })
  release.own(supervisor)
  announceApi(supervisor.addressesOf('api')['api']!)
  await stop
  say('Stopping …')

  async function openNats({ nats, data }: Settings, owner: ReleaseStack): Promise<string> {
    if (nats.servers !== undefined) return nats.servers.join(',')
    const server = await openNatsServer({
      executable: localNatsServer(),
      dataDir: data.dir,
      port: nats.localPort,
      storageMaxBytes: nats.storageMaxBytes,
      occurrences,
    })
    return owner.own(server).url
  }
}
