/** The control interface under `/_emulator/`: unsigned JSON, for tests and the demo on the same machine. */
import type { FaultSpec, KeyPair, ResourceName, ResourceSpec, RoleSpec } from './wire.js'
import type { Resource, World } from './world.js'

/** A request of the control interface that can't be answered; becomes a 400. */
export class ControlError extends Error {}

type Route = (world: World, body: unknown, query: URLSearchParams) => unknown

const routes: Readonly<Record<string, Route>> = {
  'POST keys': (world, body) => world.addKey(body as KeyPair),
  'DELETE keys': ({ keys }, _, query) => void keys.delete(query.get('accessKeyId') ?? ''),
  'POST roles': (world, body) => world.addRole(body as RoleSpec),
  'DELETE roles': ({ roles }, _, query) => void roles.delete(query.get('roleArn') ?? ''),
  'POST resources': (world, body) => ({ arn: world.addResource(body as ResourceSpec).arn }),
  'DELETE resources': (world, _, query) => ({ removed: world.removeResource(nameFrom(query)) }),
  'GET sessions': (world) =>
    [...world.sessions.values()].map(({ secretAccessKey: _, sessionToken: __, ...rest }) => rest),
  'POST sessions/expire': (world) => world.expireSessions(),
  'GET received': (world, _, query) =>
    resourceFrom(world, query).ledger.page(numberFrom(query, 'after', 0), numberFrom(query, 'limit', 1000)),
  'GET counts': (world, _, query) => resourceFrom(world, query).ledger.counts(),
  'GET ids': (world, _, query) => resourceFrom(world, query).ledger.ids(query.get('repeated') === 'true'),
  'POST faults': (world, body) => ({ id: world.faults.add(body as FaultSpec) }),
  'GET faults': (world) => world.faults.list(),
  'DELETE faults': (world, _, query) =>
    world.faults.clear(query.has('id') ? numberFrom(query, 'id', 0) : undefined),
  'POST clock': (world, body) => void setClock(world, body),
  'GET stats': (world) => world.stats(),
  'POST clear': (world) => world.clear(),
  'POST reset': (world) => world.reset(),
}

/** Answers a request on `/_emulator/…`; throws a `ControlError` if it is invalid. */
export function control(world: World, method: string, url: URL, body: Buffer): unknown {
  const route = routes[`${method} ${url.pathname.replace('/_emulator/', '')}`]
  if (route === undefined)
    throw new ControlError(`No such route. There are: ${Object.keys(routes).join(', ')}.`)
  return route(world, body.length === 0 ? undefined : JSON.parse(body.toString()), url.searchParams) ?? {}
}

/** The clock is set ahead by `offsetMs`, or back if that is negative. */
function setClock(world: World, body: unknown): void {
  const { offsetMs } = (body ?? {}) as { offsetMs?: unknown }
  if (typeof offsetMs !== 'number') throw new ControlError('offsetMs must be a number.')
  world.clockOffsetMs = offsetMs
}

function nameFrom(query: URLSearchParams): ResourceName {
  const service = query.get('service')
  const name = query.get('name')
  if (name === null || (service !== 'kinesis' && service !== 'firehose' && service !== 'logs')) {
    throw new ControlError('A resource is named by service (kinesis, firehose, logs) and name.')
  }
  const region = query.get('region')
  return region === null ? { service, name } : { service, name, region }
}

function resourceFrom(world: World, query: URLSearchParams): Resource {
  const resource = world.findResource(nameFrom(query))
  if (resource === undefined)
    throw new ControlError(`There is no ${query.get('service')} ${query.get('name')}.`)
  return resource
}

function numberFrom(query: URLSearchParams, name: string, otherwise: number): number {
  const value = Number(query.get(name) ?? otherwise)
  if (!Number.isSafeInteger(value) || value < 0) throw new ControlError(`${name} must be a whole number.`)
  return value
}
