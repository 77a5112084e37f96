/**
 * Start here: the demo shows Weir from the outside, on a machine that has only Node. It starts an emulated AWS and the
 * whole service, creates a configuration through the API, asks and publishes over NATS like an ingress node, reads what
 * arrives, and compares all of it with the books. It never reaches into the service.
 */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packageFile } from '../../ground/core/package.js'
import { ReleaseStack } from '../../ground/core/release.js'
import { checksOf, holds } from './books.js'
import { keepPublishing, recordsPerSecond } from './live-traffic.js'
import { linesOf, surveyRecords } from './records-file.js'
import { replay } from './replay.js'
import { run } from './run.js'
import { grouped, Screen } from './screen.js'
import { openServices, type Services } from './services.js'
import { summary } from './summary.js'
import { tour } from './tour.js'

interface DemoOptions {
  /** End when everything has arrived. */
  readonly once?: boolean
  /** Replay this file instead of the demo's own records. */
  readonly records?: string
  /** The command line's module: starts `weir serve`. */
  readonly module: string
  /** Resolves when the user stops the demo. */
  readonly stopped: Promise<void>
}

const interrupted = 130

/** Resolves with the exit code, or rejects, after everything is stopped and removed. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const screen = new Screen(process.stdout)
  const release = new ReleaseStack()
  const stopping = new AbortController()
  const stop = options.stopped.then(() => undefined)
  try {
    const shown = await Promise.race([show(options, screen, release, stopping.signal), stop])
    if (shown === undefined) return interrupted
    if (!options.once) {
      screen.say(addresses(shown.services, await shown.services.signInLink()))
      const live = keepPublishing({ ...shown, ...shown.services }, stopping.signal)
      await Promise.race([stop, failure(shown.services), live])
    }
    return shown.isFine ? 0 : 1
  } finally {
    stopping.abort()
    screen.wipe()
    await release.release()
  }
}

async function show(options: DemoOptions, screen: Screen, release: ReleaseStack, stopping: AbortSignal) {
  const file = options.records ?? packageFile('fixtures', 'records', 'demo.ndjson.gz')
  const survey = await screen.step(`Reading ${basename(file)}`, () =>
    surveyRecords(linesOf(file), (lines) => screen.progress(() => `${grouped(lines)} lines read`)),
  )
  const counts = readFileSync(packageFile('fixtures', 'records', 'demo.counts.json'), 'utf8')
  const scenario = options.records === undefined ? tour(JSON.parse(counts)) : replay(survey)
  screen.say('Weir and an emulated AWS run in a temporary directory, for this demo only.')
  const services = await screen.step('Starting an AWS emulator and weir serve', () =>
    openServices(options.module, release, stopping),
  )
  // On a terminal, Ctrl-C has left `^C` on the line.
  if (!options.once) release.add(() => screen.say(process.stdout.isTTY ? '\nStopping …' : 'Stopping …'))
  const running = run(scenario, file, survey, services, screen)
  const { account, textOf } = await Promise.race([running, failure(services)])
  screen.say(summary(account, screen))
  return { services, scenario, file, textOf, isFine: checksOf(account).every(holds) }
}

async function failure({ broken }: Services): Promise<never> {
  throw new Error(await broken)
}

const addresses = (
  { apiUrl, natsUrl, emulatorUrl, token, dir }: Services,
  signInLink: string,
): string => `Everything stays up until Ctrl-C, and some ${recordsPerSecond} records a second keep coming.
  console  ${signInLink} (signs in once)
  API      ${apiUrl} (/docs, /metrics), key ${token}
  NATS     ${natsUrl}
  AWS      ${emulatorUrl} (emulated), logs in ${join(dir, 'logs')}`
