/** Worlds that broke a promise once, as small as they were found: what was mended stays mended. */
import type { Plan } from './plan.js'

interface Find {
  readonly about: string
  readonly plan: Plan
}

const alone = { apis: 1, pipelines: 1, deliverers: 1, services: 2 }

export const finds: readonly Find[] = [
  {
    about:
      'a message that comes between a reconnect and the look whether the stream was put back: it is not taken for another',
    plan: {
      seed: 27,
      setup: { ...alone, deliverers: 2 },
      actions: [
        { atMs: 1_226, does: 'publish', message: 10, records: [{ number: 27, sort: 'allowed' }] },
        { atMs: 2_204.5511099100113, does: 'lose last', stream: 'WEIR_RECORDS', count: 3 },
        { atMs: 2_606, does: 'publish', message: 12, records: [{ number: 29, sort: 'bad' }] },
      ],
    },
  },
  {
    about:
      'a clock that is set back while NATS is away: the connection comes back at once, not when the clock is there again',
    plan: {
      seed: 54,
      setup: { ...alone, apis: 2 },
      actions: [
        { atMs: 6_253, does: 'kill server', downMs: 908 },
        { atMs: 6_781, does: 'clock', process: 'api-1', byMs: -3_600_000 },
        { atMs: 6_900, does: 'publish', message: 1, records: [{ number: 1, sort: 'allowed' }] },
      ],
    },
  },
]
