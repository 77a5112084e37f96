/**
 * `weir destination`: shows the state of delivery, checks whether delivery would work, pauses and resumes it; `weir listen`.
 */
import type { Command } from 'commander'
import { kindNamed } from '../../delivery/deliver/kinds.js'
import { forTerminal } from '../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../ground/core/text/times.js'
import type { Settings } from '../../management/process/settings.js'
import type { Client } from '../../words/client/client.js'
import { actionText } from '../../words/event/operator-actions.js'
import type {
  DeliveryStatus,
  DestinationCheck,
  DestinationStatus,
} from '../../words/shape/delivery-status.js'
import type { IamPolicy } from '../../words/shape/iam-policy.js'
import type { ListenOptions } from './listen.js'

export function addDestinationCommands(program: Command, settings: () => Settings): void {
  addListenCommand(program, settings)
  const destination = program.command('destination').description('event destinations and their delivery')
  const report = (text: string): void => void process.stdout.write(`${forTerminal(text)}\n`)
  const clientOf = async () => {
    const { clientOf: open } = await import('./connection/api-client.js')
    return open(settings())
  }

  destination
    .command('status')
    .description('state, cause and what to do, backlog and counts; without an id: of all destinations')
    .argument('[id]', 'ed_…')
    .option('--json', 'the answer of the API; of all: a line for each')
    .action(async (id: string | undefined, { json }: { json?: true }) => {
      for await (const text of statuses(await clientOf(), id, json)) report(text)
    })

  destination
    .command('check')
    .description('can it be delivered to? Asks the service and writes nothing; fails if it cannot')
    .argument('<id>', 'ed_…')
    .option('--json', 'the answer of the API')
    .action(async (id: string, { json }: { json?: true }) => {
      const check = await (await clientOf()).checkDestination(id)
      report(json ? JSON.stringify(check) : checkText(id, check))
      if (check.result === 'failed') process.exitCode = 1
    })

  addIamPolicyCommand(destination, clientOf, report)

  destination
    .command('attempts')
    .description('the last requests to it, newest first: time, outcome, events, duration, request id, error')
    .argument('<id>', 'ed_…')
    .option('--json', 'a line of JSON for each')
    .action(async (id: string, { json }: { json?: true }) => {
      const { attempts } = await (await clientOf()).deliveryAttempts(id)
      for (const attempt of attempts) report(json ? JSON.stringify(attempt) : attemptText(attempt))
      if (attempts.length === 0 && !json) report('No request since the deliverers were started.')
    })

  destination
    .command('pause')
    .description('send nothing more to it; its events wait until it is resumed')
    .argument('<id>', 'ed_…')
    .option('--json', 'the answer of the API')
    .action(async (id: string, { json }: { json?: true }) => {
      const destination = await (await clientOf()).pauseDestination(id)
      const { paused } = destination
      if (json) report(JSON.stringify(destination))
      else report(`${id} is paused since ${paused?.at}. To send again: weir destination resume ${id}`)
    })

  destination
    .command('resume')
    .description('send its events again; one that nobody paused is tried now')
    .argument('<id>', 'ed_…')
    .option('--json', 'the answer of the API')
    .action(async (id: string, { json }: { json?: true }) => {
      const destination = await (await clientOf()).resumeDestination(id)
      report(json ? JSON.stringify(destination) : `${id}: ${destination.resumed.msg}`)
    })
}

function addIamPolicyCommand(
  destination: Command,
  clientOf: () => Promise<Client>,
  report: (text: string) => void,
): void {
  destination
    .command('iam-policy')
    .description('the rights that it needs at AWS, and the trust policy of its role, to copy')
    .argument('<id>', 'ed_…')
    .option('--json', 'the answer of the API')
    .action(async (id: string, { json }: { json?: true }) => {
      const policy = await (await clientOf()).iamPolicy(id)
      report(json ? JSON.stringify(policy) : iamPolicyText(policy))
    })
}

function addListenCommand(program: Command, settings: () => Settings): void {
  program
    .command('listen')
    .description(
      'a web server on 127.0.0.1 that prints the events which destinations of the kind http send it',
    )
    .summary('a web server that prints the events it gets')
    .option('--port <port>', '0: any free one', '7070')
    .option(
      '--create',
      'with WEIR_API_KEY: make a destination and a subscription, and delete them at the end',
    )
    .option('--json', "each event's JSON on a line")
    .action(async (options: ListenOptions) => {
      const { listen } = await import('./listen.js')
      await listen(settings(), options)
    })
}

/** The status of a destination, or of all. */
async function* statuses(client: Client, id?: string, json?: true): AsyncGenerator<string, void> {
  if (id !== undefined) {
    const status = await client.deliveryStatus(id)
    yield json ? JSON.stringify(status) : statusText(await client.eventDestination.get(id), status)
    return
  }
  const destinations = new Map<string, Destination>()
  for await (const destination of client.eventDestination.list())
    destinations.set(destination.id, destination)
  for await (const { destination_id, description, status } of allStatuses(client)) {
    const destination = destinations.get(destination_id)
    // A destination that was created meanwhile is shown by the next command.
    if (destination === undefined) continue
    const { target } = destination
    yield json
      ? JSON.stringify({ destination_id, description, target, status })
      : statusText(destination, status)
  }
}

async function* allStatuses(client: Client): AsyncGenerator<DestinationStatus, void> {
  for (let before_id: string | undefined; ; ) {
    const { statuses, next_page_uri } = await client.deliveryStatuses(
      before_id === undefined ? {} : { before_id },
    )
    yield* statuses
    before_id = statuses.at(-1)?.destination_id
    if (next_page_uri === null || before_id === undefined) return
  }
}

/** A line with the result, then the reasons. */
export function checkText(
  id: string,
  { result, proved, not_proved, error, advice, actions }: DestinationCheck,
): string {
  const lines = [
    ...proved,
    ...not_proved.map((sentence) => `Not proved: ${sentence}`),
    ...(error === null ? [] : [`${error.code}: ${error.msg}`]),
    ...(advice === null ? [] : [sentenceForTerminal(advice)]),
    ...actions.map(actionText),
  ]
  return [`${id}  ${result}`, ...lines.map((line) => `  ${line}`)].join('\n')
}

/** Two documents to copy, each behind what it is for. */
export function iamPolicyText({ policy, trust_policy, notes }: IamPolicy): string {
  const documents = [
    `Of the ${trust_policy === null ? 'user' : 'role'}:\n${JSON.stringify(policy, undefined, 2)}`,
    ...(trust_policy === null
      ? []
      : [`Trust policy of the role:\n${JSON.stringify(trust_policy, undefined, 2)}`]),
  ]
  return [...documents, ...notes].join('\n\n')
}

type Attempt = Awaited<ReturnType<Client['deliveryAttempts']>>['attempts'][number]
type Destination = Awaited<ReturnType<Client['eventDestination']['get']>>

/** `kinesis  arn:aws:kinesis:…` */
function targetText(target: Destination['target']): string {
  const [name = '', member] = Object.entries(target).find(([, each]) => each !== null) ?? []
  const { field } = kindNamed(name).address
  return `${name}  ${(member as unknown as Readonly<Record<string, string>>)[field]}`
}

type Shown = Pick<Destination, 'id' | 'target' | 'description'>

/** A line with the state, one with the target, then all known details. */
export function statusText({ id, target, description }: Shown, status: DeliveryStatus): string {
  const { state, cause, advice, actions, since, rate, backlog, behind, last_success_at, last_error } = status
  const why = cause === null || cause === state ? '' : ` (${cause})`
  const lines = [
    targetText(target),
    since === null ? undefined : `since ${since}`,
    last_error === null ? undefined : errorText(last_error),
    advice === null ? undefined : sentenceForTerminal(advice),
    ...actions.map(actionText),
    rate ? `${rate} events/s accepted` : undefined,
    backlogText(backlog),
    behind === null ? undefined : `behind since ${behind.since}, ${behind.messages} messages of records wait`,
    last_success_at === null ? undefined : `last success ${last_success_at}`,
    Object.entries(status.counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
    status.billing?.saving,
  ]
  return [
    `${id}  ${state}${why}  ${description ?? ''}`.trimEnd(),
    ...lines.flatMap((line) => (line ? [`  ${line}`] : [])),
  ].join('\n')
}

const errorText = ({ at, code, msg }: NonNullable<DeliveryStatus['last_error']>): string =>
  `last error ${at}: ${code}: ${msg}`

function backlogText({ events, oldest_at, expires_at }: DeliveryStatus['backlog']): string {
  const since = oldest_at === null ? '' : `, the oldest since ${oldest_at}`
  return `${events} events wait${since}${expires_at ? `, kept until ${expires_at}` : ''}`
}

/** `2026-11-20T10:00:02.117Z  partial    380 of 500 events  256410 bytes  41 ms  c0ffee…  Code: message` */
export function attemptText({
  at,
  outcome,
  events,
  accepted,
  bytes,
  took_ms,
  request_id,
  error,
}: Attempt): string {
  const fault = error === null ? undefined : `${error.code}: ${error.msg}`
  return [
    at,
    outcome.padEnd(9),
    `${accepted} of ${events} events`,
    `${bytes} bytes`,
    `${took_ms} ms`,
    request_id,
    fault,
  ]
    .filter(Boolean)
    .join('  ')
}
