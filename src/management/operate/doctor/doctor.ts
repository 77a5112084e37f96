/**
 * Start here for `weir doctor` and `GET /doctor`, as far as a process of the API sees the deployment: each look is a function
 * that returns the lines of some checks. One that fails or hangs costs the others nothing: its lines say that they were not
 * checked, and why.
 */
import { hostname } from 'node:os'
import { type Hide, hiding } from '../../../delivery/outgoing/hidden-secrets.js'
import { isoMillis, now, within } from '../../../ground/core/clock.js'
import { hideSecrets, messageOf } from '../../../ground/core/errors.js'
import { getOrMake, grouped } from '../../../ground/core/maps.js'
import { version } from '../../../ground/core/package.js'
import {
  bounded,
  type DoctorCheck,
  type DoctorLine,
  type DoctorReport,
  doctorLine,
  inOrder,
  machineChecks,
  worstOf,
} from '../../../words/shape/doctor.js'
import { KeptAnswers } from '../kept-answers.js'
import { type AccountParts, accountLines, summedChecks } from './account-checks.js'
import { type ClickhouseParts, clickhouseLines } from './clickhouse-checks.js'
import { awsIdentityLines, type DestinationParts, destinationLines } from './destination-checks.js'
import { type NatsParts, natsLines } from './nats-checks.js'
import { type ProcessParts, processLines } from './process-checks.js'
import { type GeoipParts, geoipLines, type TrafficParts, trafficLines } from './traffic-checks.js'

export type DoctorParts = ProcessParts &
  NatsParts &
  ClickhouseParts &
  DestinationParts &
  TrafficParts &
  AccountParts &
  GeoipParts

interface DoctorOptions {
  /** All secrets that the process knows: what others say may repeat one. */
  readonly secrets: () => readonly string[]
  readonly checkWithinMs?: number
}

/** Longer than each part of a look waits for what it asks. All looks begin together, so the whole takes no longer. */
const checkWithinMsDefault = 30_000

/** Shorter than what a person needs to mend something and to ask again. */
const keepMs = 5_000
/** The time after which the last look was given up, and some to spare. */
const waitMs = checkWithinMsDefault + 10_000

interface Look {
  readonly checks: readonly DoctorCheck[]
  readonly lines: (parts: DoctorParts) => Promise<DoctorLine[]>
}

const looks: readonly Look[] = [
  {
    checks: [
      'processes',
      'versions',
      'clocks',
      'open_files',
      'nats_rights',
      'decide_port',
      'trusted_proxies',
    ],
    lines: processLines,
  },
  { checks: ['nats', 'nats_storage', 'nats_streams'], lines: natsLines },
  { checks: ['clickhouse', 'clickhouse_writes', 'clickhouse_disk'], lines: clickhouseLines },
  { checks: ['aws_identity'], lines: awsIdentityLines },
  { checks: ['destinations'], lines: destinationLines },
  { checks: ['records'], lines: trafficLines },
  { checks: summedChecks, lines: accountLines },
  { checks: ['geoip'], lines: geoipLines },
]

export class Doctor {
  readonly #parts: DoctorParts
  readonly #options: DoctorOptions
  /** Also looks that were given up: what hangs is never begun again beside itself. */
  readonly #underWay = new Map<Look, Promise<DoctorLine[]>>()
  readonly #kept = new KeptAnswers({ keepMs, waitMs }, () => this.#examine(apiLines()))

  constructor(parts: DoctorParts, options: DoctorOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** For `weir doctor`, which adds what the machine shows. */
  report(): Promise<DoctorReport> {
    return this.#examine([])
  }

  /** For `GET /doctor`: callers that come together share a report, and the next ones get it for some seconds. */
  recent(): Promise<DoctorReport> {
    return this.#kept.of('deployment')
  }

  async #examine(more: readonly DoctorLine[]): Promise<DoctorReport> {
    const found = await Promise.all(looks.map((look) => this.#linesOf(look)))
    const hide = hiding(this.#options.secrets())
    const lines = inOrder([...more, ...found.flat().map((line) => withoutSecrets(line, hide))])
    return { state: worstOf(lines), as_of: isoMillis(now()), version, lines }
  }

  async #linesOf(look: Look): Promise<DoctorLine[]> {
    const { checkWithinMs = checkWithinMsDefault } = this.#options
    try {
      const late = `there was no answer within ${checkWithinMs / 1000} s.`
      const lines = await within(checkWithinMs, this.#begun(look), late)
      return [...grouped(lines, (line) => line.check)].flatMap(([name, of]) => bounded(name, of))
    } catch (error) {
      return look.checks.map((check) =>
        doctorLine(check, 'not_checked', `It was not checked: ${messageOf(error)}`),
      )
    }
  }

  #begun(look: Look): Promise<DoctorLine[]> {
    return getOrMake(this.#underWay, look, () =>
      look.lines(this.#parts).finally(() => this.#underWay.delete(look)),
    )
  }
}

/** Who looked; and what only the command sees, which runs on the machine with the settings of the service. */
const apiLines = (): DoctorLine[] => [
  doctorLine('service', 'good', 'The API answers: this process of it looked at all the others.', {
    about: `api on ${hostname()} (${process.pid})`,
  }),
  ...machineChecks.map((check) =>
    doctorLine(check, 'not_checked', 'The API does not look at the machine that it runs on.', {
      advice: 'Run "weir doctor" there, as the user of the service and with its settings.',
    }),
  ),
]

function withoutSecrets({ about, sentence, advice, ...line }: DoctorLine, hide: Hide): DoctorLine {
  const shown = (text: string): string => hideSecrets(hide(text))
  return {
    ...line,
    about: about === null ? null : shown(about),
    sentence: shown(sentence),
    advice: advice === null ? null : shown(advice),
  }
}
