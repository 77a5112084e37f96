/** Destinations: the check of each, which writes nothing, and who the deployment is at AWS. */
import { regionOf } from '../../../delivery/deliver/aws/arn.js'
import type { Fault } from '../../../delivery/outgoing/fault-class.js'
import { eachOf } from '../../../ground/core/concurrency.js'
import type { Result } from '../../../ground/core/errors.js'
import { chosenTarget, type Target } from '../../../words/resource/destination-target.js'
import { eventDestination } from '../../../words/resource/event-destination.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { type DoctorLine, doctorLine } from '../../../words/shape/doctor.js'
import type { ViewState } from '../../../words/view/view-state.js'
import { counted } from '../destination-attention.js'
import type { DestinationOperations } from '../destination-operations.js'

export interface DestinationParts {
  readonly stateOf: () => ViewState
  readonly destinations: Pick<DestinationOperations, 'check' | 'worst'>
  /** Who the process is at AWS, by its own credentials. */
  readonly awsIdentity: (region: string) => Promise<Result<AwsIdentity, Fault>>
}

interface AwsIdentity {
  readonly account: string
  readonly arn: string
}

/** Each takes a request to its server, and up to ten seconds: all of them end within the time of a check. */
const checkedMax = 40
const atOnceMax = 20

const rowsIn = (state: ViewState): Row[] => [...(state.rows.get(eventDestination.kind)?.values() ?? [])]

export async function destinationLines({ stateOf, destinations }: DestinationParts): Promise<DoctorLine[]> {
  const rows = rowsIn(stateOf())
  if (rows.length === 0) return [doctorLine('destinations', 'good', 'There are no destinations.')]
  const worst = (await destinations.worst(rows, checkedMax)) ?? rows.slice(0, checkedMax)
  const lines: DoctorLine[] = []
  await eachOf(worst, atOnceMax, async (row) => void lines.push(await lineFor(row, destinations)))
  const left = rows.length - worst.length
  const passed = lines.filter(({ state }) => state === 'good')
  return [
    ...lines.filter(({ state }) => state !== 'good'),
    ...(passed.length === 0
      ? []
      : [
          doctorLine(
            'destinations',
            'good',
            `${counted(passed.length, 'destination')} could be delivered to.`,
          ),
        ]),
    ...(left === 0
      ? []
      : [
          doctorLine(
            'destinations',
            'not_checked',
            `${counted(left, 'destination')} more were not asked: at most ${checkedMax} are, those in the worst state.`,
            { advice: 'weir destination check <id> checks one.' },
          ),
        ]),
  ]
}

async function lineFor(row: Row, { check }: Pick<DestinationOperations, 'check'>): Promise<DoctorLine> {
  const about = row.id
  const { result, error, advice, not_proved } = await check(row)
  if (result === 'failed')
    return doctorLine('destinations', 'bad', `It can not be delivered to: ${error?.code}: ${error?.msg}`, {
      about,
      advice: advice ?? undefined,
    })
  if (result === 'passed') return doctorLine('destinations', 'good', 'It could be delivered to.', { about })
  return doctorLine('destinations', 'not_checked', `Not proved without a write: ${not_proved.join(' ')}`, {
    about,
    advice: 'Send a test event to it.',
  })
}

/** The deployment needs an identity of its own only to assume the roles that accounts name. */
export async function awsIdentityLines({ stateOf, awsIdentity }: DestinationParts): Promise<DoctorLine[]> {
  const roles = rowsIn(stateOf()).filter(namesRole)
  if (roles.length === 0)
    return [
      doctorLine(
        'aws_identity',
        'not_checked',
        'No destination names a role of AWS, so Weir needs no identity of its own there.',
      ),
    ]
  const found = await awsIdentity(regionFor(roles))
  const needed = `${counted(roles.length, 'destination')} ${roles.length === 1 ? 'names a role' : 'name roles'} that it assumes`
  if (found.ok)
    return [doctorLine('aws_identity', 'good', `The API's process is ${found.value.arn} at AWS; ${needed}.`)]
  return [
    doctorLine(
      'aws_identity',
      'bad',
      `AWS does not know the API's process, and ${needed}: ${found.problem.code}: ${found.problem.msg}`,
      {
        advice: 'Give Weir credentials of AWS (destinations/aws.md, "Authentication").',
      },
    ),
  ]
}

const namesRole = (row: Row): boolean => 'role' in (chosenTarget(row['target'] as Target).auth ?? {})

/** Where the first of them is: STS answers in every region. */
const regionFor = ([first]: readonly Row[]): string => regionOf(chosenTarget(first!['target'] as Target))
