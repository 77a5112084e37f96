/**
 * Checks of `weir serve` before it creates, starts or prints anything. They find faulty settings that its processes
 * would report only after a nats-server runs and the first account exists. The port is opened and closed again; the API
 * opens it before anything else.
 */
import { existsSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { StartFault } from '../core/errors.js'
import { listenFault, listenHttp } from '../core/http-listen.js'
import { natsServerMissing } from '../nats-server/find-nats-server.mjs'
import { isPortFree } from '../nats-server/nats-probe.js'
import { localNatsServer, type Settings } from '../process/settings.js'
import { openGeo } from '../record/geo.js'

/** Throws a `StartFault`. */
export async function preflight({ api, data, geo, nats }: Settings): Promise<void> {
  await openGeo(geo.databases)
  const drop: RequestListener = (_request, response) => response.destroy()
  const listening = await listenHttp(api.host, api.port, drop).catch((error: unknown) => {
    throw listenFault(error, api.host, api.port)
  })
  await listening.close()
  if (nats.servers !== undefined) return
  if (localNatsServer() === undefined) throw new StartFault(natsServerMissing)
  // In a used directory, a leftover server may hold the port; it is ended later.
  if (nats.localPort !== 0 && !existsSync(data.dir) && !(await isPortFree(nats.localPort)))
    throw new StartFault(
      `Another process listens on port ${nats.localPort}: set WEIR_NATS_PORT to a free one.`,
    )
}
