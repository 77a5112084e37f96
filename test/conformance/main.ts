/**
 * Start here: the contract, checked from outside against any deployment. `docs/conformance.md` says what it promises to the
 * deployment that it looks at, and lists all clauses.
 *
 *     npm run conformance -- --url URL --key KEY [--listen HOST:PORT] [--nats URL] [--decide-url URL] …
 *
 * It lives next to the tests and not in the package, and its checks import nothing of the product: an expectation that
 * comes from the code under test changes with it.
 */
import { writeFileSync } from 'node:fs'
import { env, exit, stderr, stdout } from 'node:process'
import { parseArgs } from 'node:util'
import { exitCode } from '../../src/outside/cli/guide/exit-codes.js'
import { Broken } from './answer.js'
import { asJson, asJunit, resultLines, summary } from './report.js'
import { clauses, runContract } from './run.js'
import { perMinuteMaxDefault, type Target, Visit } from './visit.js'

const usage = `npm run conformance -- --url URL --key KEY [options]

  --url URL          the API; default: WEIR_API_URL
  --key KEY          an API key with all rights; default: WEIR_API_KEY, which other users of the machine can't see
  --read-only        only what needs no writes; a key with the right "read" is enough
  --other-key KEY    of a second account: what is one account's must be unknown to the other
  --listen HOST:PORT where this program takes events; the deployment must reach it, and may (WEIR_HTTP_PRIVATE_NETWORKS)
  --listen-url URL   under which the deployment reaches that, if it is another address
  --decide-url URL   the port for proxies (WEIR_DECIDE_PORT)
  --nats URL         with the login of an ingress node, as npm start prints it
  --limits           also checks that take places which other clients of the account share, for a second each
  --only N,N         these promises only; 400 stands for 401 to 499
  --patience N       waits N times as long as promised
  --rate N           sends at most N requests a minute; default: ${perMinuteMaxDefault}, half of an account's default limit
  --plan             says what would be written, and does nothing
  --list             lists the promises, and does nothing
  --json             one JSON object on standard output
  --junit FILE       what was checked, as JUnit XML
`

class Misuse extends Error {}

function optionsOf() {
  try {
    return parseArgs({
      options: {
        url: { type: 'string' },
        key: { type: 'string' },
        'other-key': { type: 'string' },
        'read-only': { type: 'boolean', default: false },
        listen: { type: 'string' },
        'listen-url': { type: 'string' },
        'decide-url': { type: 'string' },
        nats: { type: 'string' },
        limits: { type: 'boolean', default: false },
        only: { type: 'string' },
        patience: { type: 'string', default: '1' },
        rate: { type: 'string', default: String(perMinuteMaxDefault) },
        plan: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        junit: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error))
  }
}

type Options = ReturnType<typeof optionsOf>

function targetOf(options: Options): Target {
  const url = options.url ?? env['WEIR_API_URL']
  const key = options.key ?? env['WEIR_API_KEY']
  if (url === undefined) throw new Misuse('--url is needed: the address of the API.')
  if (key === undefined) throw new Misuse('--key is needed, or WEIR_API_KEY: an API key of the deployment.')
  const [patience, perMinuteMax] = [
    atLeastOne('patience', options.patience),
    atLeastOne('rate', options.rate),
  ]
  if (options.listen !== undefined && !/^.+:\d+$/.test(options.listen))
    throw new Misuse(`--listen is "${options.listen}": HOST:PORT is needed.`)
  return {
    url: address('url', url),
    key,
    ...(options['other-key'] === undefined ? {} : { otherKey: options['other-key'] }),
    ...(options.listen === undefined ? {} : { listen: options.listen }),
    ...(options['listen-url'] === undefined
      ? {}
      : { listenUrl: address('listen-url', options['listen-url']) }),
    ...(options['decide-url'] === undefined
      ? {}
      : { decideUrl: address('decide-url', options['decide-url']) }),
    ...(options.nats === undefined ? {} : { natsUrl: address('nats', options.nats) }),
    isReadOnly: options['read-only'],
    isWithLimits: options.limits,
    patience,
    perMinuteMax,
  }
}

function atLeastOne(option: string, text: string): number {
  if (!(Number(text) >= 1)) throw new Misuse(`--${option} is "${text}": a number from 1 on is needed.`)
  return Number(text)
}

/** A message of `URL` has the whole text in it, which may have a password. */
function address(option: string, text: string): string {
  if (!URL.canParse(text)) throw new Misuse(`--${option} is no URL.`)
  return text.replace(/\/$/, '')
}

function numbersOf(text: string | undefined): number[] {
  const numbers = (text ?? '').split(',').filter(Boolean).map(Number)
  const known = new Set(clauses.flatMap(({ number }) => [number, number - (number % 100)]))
  const unknown = numbers.filter((number) => !known.has(number))
  if (unknown.length > 0) throw new Misuse(`--only: there is no promise ${unknown.join(', ')}: see --list.`)
  return numbers
}

function announcement({ url, listen, natsUrl, isReadOnly, isWithLimits }: Target, label: string): string {
  if (isReadOnly)
    return `${url}: nothing is written. Only reads, questions and requests with validate_only are sent.\n`
  const lines = [
    `${url}: this run writes, all of it as "${label}", and removes it at its end, also after Ctrl-C:`,
    '- edges, routes, backends, IP policies, IP lists, certificates, names and API keys, which end in an hour by themselves',
    `- fewer than a hundred records of names below ${label}.example, over HTTP${natsUrl === undefined ? '' : ' and NATS'}`,
    ...(listen === undefined
      ? []
      : [`- destinations that lead to ${listen}, subscriptions to them, and a replay`]),
    ...(isWithLimits
      ? ['It also takes the place of a large request for a second; others are told to come again.']
      : []),
    'What can not be removed: the history of these changes and their audit events, which subscriptions of the account get;',
    'decisions about the records, until the retention; idempotency keys, for a day. Nothing else is touched.',
  ]
  return `${lines.join('\n')}\n`
}

async function main(): Promise<number> {
  const options = optionsOf()
  if (options.help) stdout.write(usage)
  if (options.list)
    for (const { number, says, page } of clauses) stdout.write(`${number}  ${says}  docs/${page}\n`)
  if (options.help || options.list) return exitCode.done
  const target = targetOf(options)
  const only = numbersOf(options.only)
  const visit = new Visit(target)
  stderr.write(announcement(target, visit.label))
  if (options.plan) return exitCode.done
  const { status } = await visit.ask.get('/healthz', { headers: { authorization: undefined } })
  if (status >= 500) throw new Broken('GET /healthz', 'status 200', String(status))
  const outcome = await runContract(
    target,
    {
      only,
      interrupted: interruption(),
      onResult: (result) => (options.json ? undefined : stdout.write(`${resultLines(result)}\n`)),
    },
    visit,
  )
  if (options.json) stdout.write(`${JSON.stringify(asJson(outcome), undefined, 2)}\n`)
  else stdout.write(`\n${summary(outcome)}\n`)
  if (options.junit !== undefined) writeFileSync(options.junit, asJunit(outcome))
  const isBroken = outcome.results.some(
    ({ state, why }) => state === 'broken' || why === 'the run was interrupted',
  )
  return isBroken || outcome.left.length > 0 ? exitCode.found : exitCode.done
}

/** The first signal ends the run, which then removes what it made; the second ends the program. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted) exit(exitCode.found)
      stderr.write('Interrupted: what this run made is removed now.\n')
      controller.abort()
    })
  }
  return controller.signal
}

try {
  process.exitCode = await main()
} catch (error) {
  if (error instanceof Misuse) stderr.write(`${error.message}\n`)
  else if (error instanceof Broken) stderr.write(`No answer: ${error.asked}: ${error.came}\n`)
  else throw error
  process.exitCode = error instanceof Misuse ? exitCode.misused : exitCode.unanswered
}
