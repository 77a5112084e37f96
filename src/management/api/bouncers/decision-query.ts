/** The query of a bouncer: the parameters of CrowdSec's local API, as far as they mean something here. */
import {
  type Cidr,
  cidrContains,
  formatCidr,
  isOneAddress,
  parseCidr,
  rangesAround,
} from '../../../ground/core/address/cidr.js'
import type { Address } from '../../../ground/core/address/ip.js'
import { badRequest, shown } from '../../../ground/core/errors.js'
import type { Ban, Bans, IsWanted } from '../../insight/bans/bans.js'

/** Other parameters of CrowdSec mean nothing here, and are ignored. */
export interface Query {
  readonly startup?: string
  readonly scopes?: string
  readonly origins?: string
  readonly scenarios_containing?: string
  readonly scenarios_not_containing?: string
  readonly scope?: string
  readonly value?: string
  readonly type?: string
  readonly ip?: string
  readonly range?: string
  readonly contains?: string
}

const wordsIn = (text: string | undefined): readonly string[] | undefined => {
  const words = String(text ?? '')
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')
  return words.length === 0 ? undefined : words
}

/** By scope, origin, type and words of the reason. Bouncers call a list by its origin and its name: `lists:tor`. */
export function filterOf(query: Query): IsWanted {
  const [scopes, origins, types] = [query.scopes, query.origins, query.type].map(wordsIn)
  const [having, lacking] = [query.scenarios_containing, query.scenarios_not_containing].map(wordsIn)
  if (types?.includes('ban') === false) return () => false
  const isOrigin = ({ origin, reason }: Ban) =>
    origins === undefined ||
    origins.includes(origin) ||
    (origin === 'lists' && origins.includes(`lists:${reason}`))
  const scopeOf = ({ cidr }: Ban) => (isOneAddress(cidr) ? 'ip' : 'range')
  return (ban) => {
    const scenario = ban.reason.toLowerCase()
    return (
      isOrigin(ban) &&
      scopes?.includes(scopeOf(ban)) !== false &&
      having?.some((word) => scenario.includes(word)) !== false &&
      lacking?.some((word) => scenario.includes(word)) !== true
    )
  }
}

function rangeAsked({ ip, range, value }: Query): Cidr | undefined {
  const text = ip ?? range ?? value
  if (text === undefined) return undefined
  const cidr = parseCidr(text, { hostBits: 'allow' })
  if (!cidr.ok) throw badRequest(`${shown(text)} is no address and no range.`)
  return cidr.value
}

/** The bans that contain what is asked for; with `contains=false`, those within it. Undefined is nothing: see `Bans.all`. */
export function* asked(bans: Bans, query: Query, atMs: number): Generator<Ban | undefined> {
  const scoped = wordsIn(query.scope)
  if (scoped !== undefined && !['ip', 'range'].some((each) => scoped.includes(each))) return
  const [isWanted, range] = [filterOf(query), rangeAsked(query)]
  if (range === undefined) return yield* bans.all(atMs, isWanted)
  if (query.contains === 'false')
    return yield* bans.all(atMs, (ban) => isWanted(ban) && isWithin(ban.cidr, range))
  for (const around of rangesAround(range)) yield bans.find(formatCidr(around), atMs, isWanted)
}

function isWithin(text: string, outer: Cidr): boolean {
  const inner = parseCidr(text, { hostBits: 'allow' })
  return inner.ok && inner.value.prefix >= outer.prefix && cidrContains(outer, inner.value as Address)
}
