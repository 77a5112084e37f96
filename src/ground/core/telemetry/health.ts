/** `/healthz`, `/readyz` and `/metrics`: the health pages of every role. */
import { WeirError } from '../errors.js'
import { version } from '../package.js'
import { metricsContentType } from './metrics.js'

/** Parts that don't work, or in part only, each with a sentence that says why. */
export type Failing = Readonly<Record<string, string>>

export interface HealthSource {
  /** Parts that don't work; empty when the role is ready. */
  readonly failing: () => Failing | Promise<Failing>
  /** Parts that work in part; the role is ready. */
  readonly degraded?: () => Failing
  /** Prometheus' text. */
  readonly metrics: () => Promise<string>
}

export interface HealthAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type Page = (source: HealthSource) => Promise<HealthAnswer>

const answer = (status: number, type: string, body: string): HealthAnswer => ({
  status,
  headers: { 'content-type': type, 'cache-control': 'no-store' },
  body,
})

const json = (status: number, body: object): HealthAnswer =>
  answer(status, 'application/json; charset=utf-8', JSON.stringify(body))

const pages: Readonly<Record<string, Page>> = {
  '/healthz': async () => json(200, { status: 'ok', version }),
  '/readyz': async (source) => {
    const failing = await source.failing()
    const isReady = Object.keys(failing).length === 0
    const degraded = source.degraded?.() ?? {}
    const status = isReady ? 'ready' : 'not ready'
    return json(isReady ? 200 : 503, {
      status,
      failing,
      ...(Object.keys(degraded).length > 0 && { degraded }),
    })
  },
  '/metrics': async (source) => answer(200, metricsContentType, await source.metrics()),
}

export const healthPaths: readonly string[] = Object.keys(pages)

/** The answer to a request for one of `healthPaths`. Throws a `WeirError` for a method it does not take. */
export async function healthAnswer(
  source: HealthSource,
  method: string,
  path: string,
): Promise<HealthAnswer> {
  // Many load balancers use HEAD.
  if (method !== 'GET' && method !== 'HEAD')
    throw new WeirError('ERR_METHOD', `${path} takes GET and HEAD only.`)
  return pages[path]!(source)
}
