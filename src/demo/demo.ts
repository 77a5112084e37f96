/**
 * The demo: Weir from the outside, on a machine that has nothing but Node. It starts an emulated AWS and the whole
 * service, makes a configuration through the API, asks and publishes over NATS as an ingress node does, looks at
 * what arrives, and compares all of it with the books. Nothing here reaches into the service.
 */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ReleaseStack } from '../core/release.js'
import { messageBytesMax } from './publish.js'
import { linesOf } from './records-file.js'
import { replay } from './replay.js'
import { checkLine, report } from './report.js'
import { run } from './run.js'
import type { Scenario } from './scenario.js'
import { grouped, type Output, Screen } from './screen.js'
import { type Environment, openServices, type Services } from './services.js'
import { type Survey, surveyRecords } from './survey.js'
import { type TourCounts, tour } from './tour.js'

export interface DemoOptions {
  /** End when everything has arrived. */
  readonly once?: boolean
  /** Replay this file instead of the demo's own records. */
  readonly records?: string
  /** The command line's module, by which `weir serve` is started. */
  readonly module: string
  readonly environment: Environment
  /** Resolves when a person has had enough. */
  readonly stopped: Promise<void>
  readonly output?: Output
}

const fixtures = fileURLToPath(new URL('../../../fixtures/records/', import.meta.url))
const interrupted = 130

/** Resolves with the exit code, or throws what kept the demo from its end, when everything is stopped and removed. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const screen = new Screen(options.output ?? process.stdout)
  const release = new ReleaseStack()
  const stopping = new AbortController()
  const stop = options.stopped.then(() => undefined)
  try {
    const told = await Promise.race([tell(options, screen, release, stopping.signal), stop])
    if (told === undefined) return interrupted
    if (!options.once) {
      screen.say(whereabouts(told.services))
      await Promise.race([stop, failure(told.services)])
    }
    return told.isFine ? 0 : 1
  } finally {
    stopping.abort()
    screen.endProgress()
    await release.release()
  }
}

interface Told {
  readonly services: Services
  /** Is everything as it must be? */
  readonly isFine: boolean
}

/** The whole story. */
async function tell(
  options: DemoOptions,
  screen: Screen,
  release: ReleaseStack,
  stopping: AbortSignal,
): Promise<Told> {
  const file = options.records ?? join(fixtures, 'demo.ndjson.gz')
  const survey = await lookInto(file, screen)
  const scenario = options.records === undefined ? tour(readCounts()) : replay(survey)
  const services = await screen.step(
    'Starting an AWS emulator and weir serve, in a temporary directory',
    () => openServices(options.module, options.environment, release, stopping),
    ({ apiUrl }) => `API at ${apiUrl}`,
  )
  release.add(() => screen.say('\nStopping …'))
  const isFine = await Promise.race([play(scenario, file, survey, services, screen), failure(services)])
  return { services, isFine }
}

const lookInto = (file: string, screen: Screen): Promise<Survey> =>
  screen.step(
    `Reading ${basename(file)}`,
    () =>
      surveyRecords(linesOf(file), messageBytesMax, (lines) =>
        screen.progress(() => `${grouped(lines)} lines read`),
      ),
    ({ lines, servers }) => `${grouped(lines)} records, ${grouped(servers.length)} server names`,
  )

const readCounts = (): TourCounts =>
  JSON.parse(readFileSync(join(fixtures, 'demo.counts.json'), 'utf8')) as TourCounts

async function failure({ broken }: Services): Promise<never> {
  throw new Error(await broken)
}

/** Runs the scenario and tells of it; answers whether everything is as it must be. */
async function play(
  scenario: Scenario,
  file: string,
  survey: Survey,
  services: Services,
  screen: Screen,
): Promise<boolean> {
  const { text, failed } = report(await run(scenario, file, survey, services, screen))
  screen.say(text)
  if (failed.length === 0) {
    screen.say('\nEvery record is accounted for, and every event has arrived.')
    return true
  }
  screen.say(`\nNot everything is as it must be:\n${failed.map(checkLine).join('\n')}`)
  return false
}

const whereabouts = ({ apiUrl, natsUrl, emulatorUrl, token, dir }: Services): string => `
Everything stays up until Ctrl-C.

  API      ${apiUrl}
  docs     ${apiUrl}/docs
  metrics  ${apiUrl}/metrics
  NATS     ${natsUrl}
  AWS      ${emulatorUrl} (emulated)
  logs     ${join(dir, 'logs')}

  curl -H 'Authorization: Bearer ${token}' -H 'Service-Version: 2' ${apiUrl}/event_destinations`
