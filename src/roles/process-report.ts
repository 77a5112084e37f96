/** Each process answers which version it is and how it is, so that `weir doctor` sees all of them from one place. */
import { hostname } from 'node:os'
import { processesSubject } from '../delivery/wire/names.js'
import type { ProcessReport } from '../delivery/wire/process-report.js'
import { now, within } from '../ground/core/clock.js'
import { version, versionAndBuild } from '../ground/core/package.js'
import type { ReleaseStack } from '../ground/core/release.js'
import type { Failing } from '../ground/core/telemetry/health.js'
import { openFilesOf } from '../ground/core/telemetry/open-files.js'
import type { Nats } from '../ground/nats/nats.js'
import type { Readiness } from '../management/process/readiness.js'

/** Shorter than the time for which answers are collected. */
const readinessWithinMs = 700

const startedAtMs = now() - Math.round(process.uptime() * 1000)

/** From now on until the role is closed. `more` is asked each time: a role opens its ports later. */
export function reportProcess(
  nats: Pick<Nats, 'answer' | 'storing' | 'unopened'>,
  role: string,
  readiness: Pick<Readiness, 'own'>,
  release: ReleaseStack,
  more: () => Partial<Pick<ProcessReport, 'addresses' | 'untrustedProxy'>> = () => ({}),
): void {
  const report = async (): Promise<string> => {
    const { max: filesMax, open: filesOpen } = openFilesOf('self')
    const said: ProcessReport = {
      role,
      version,
      build: versionAndBuild(),
      node: process.version,
      host: hostname(),
      pid: process.pid,
      startedAtMs,
      failing: await failingNow(readiness),
      refused: refusedOn(nats),
      filesMax,
      filesOpen,
      addresses: {},
      ...more(),
      // Last, so that it is as late as the answer.
      nowMs: now(),
    }
    return JSON.stringify(said)
  }
  release.own(nats.answer(processesSubject, undefined, report))
}

function refusedOn({ storing, unopened }: Pick<Nats, 'storing' | 'unopened'>): Record<string, string> {
  const consumers = unopened.current.map(({ stream, name, reason }) => [`${stream} ${name}`, reason] as const)
  return Object.fromEntries([...storing.failing, ...consumers])
}

const failingNow = (readiness: Pick<Readiness, 'own'>): Promise<Failing> =>
  within(readinessWithinMs, readiness.own(), 'late').catch(() => ({
    readiness: `Whether it is ready was not known within ${readinessWithinMs} ms.`,
  }))
