/**
 * Decisions and allowlists of CrowdSec, as its local API and `cscli … -o json` answer them. Bans become entries of an IP list
 * with the time at which they end, and a policy denies that list.
 *
 * CrowdSec drops a decision as a whole if it overlaps with an entry of an allowlist, so these are left out.
 */
import { type Cidr, formatCidr, parseCidr, rangesAround } from '../../ground/core/address/cidr.js'
import { entryOrFault } from '../../ground/core/address/list-formats.js'
import { isoSeconds } from '../../ground/core/clock.js'
import { StartFault, shown } from '../../ground/core/errors.js'
import { isObject } from '../../ground/core/json-object.js'
import { parseTimestamp } from '../../ground/core/text/timestamp.js'
import { lastSecond } from '../../words/resource/fields/timestamp-field.js'
import type { IpListEntry } from '../../words/shape/ip-lists/ip-list-entries.js'
import type { ImportRun } from './draft/import-run.js'
import type { Item, Made } from './draft/item.js'
import type { Document } from './input/document.js'
import type { RemoteApi } from './input/remote-api.js'

interface Found {
  readonly decisions: Item[]
  readonly allowlists: Item[]
}

/** A bouncer may read decisions; allowlists are for machines alone. */
export async function* askCrowdsec(api: RemoteApi): AsyncGenerator<Document> {
  yield { name: 'GET /v1/decisions ', value: await api.get('/v1/decisions') }
}

export function importCrowdsec(documents: readonly Document[], run: ImportRun): void {
  const found: Found = { decisions: [], allowlists: [] }
  for (const { name, value } of documents) findIn(value, name, run, found)
  const allowed = new Allowed()
  for (const list of found.allowlists) readAllowlist(run, list, allowed)
  readDecisions(run, found.decisions, allowed)
}

const shownOfDecisions = ['id', 'uuid', 'origin', 'scenario']

/** A whole answer that is none of CrowdSec is most likely another file than was meant. */
function findIn(value: unknown, place: string, run: ImportRun, found: Found): void {
  const reason = value === null ? undefined : find(value, place, run, found)
  if (reason !== undefined) throw new StartFault(`${place || 'The input '}${reason}`)
}

/** The members of an answer show what it is. Returns what is wrong with an unknown one. */
function find(value: unknown, place: string, run: ImportRun, found: Found): string | undefined {
  const at = (member: string): string =>
    place === '' || place.endsWith(' ') ? `${place}${member}` : `${place}.${member}`
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) findOrRefuse(each, `${place}[${index}]`, run, found)
    return undefined
  }
  if (!isObject(value)) return 'is no answer of CrowdSec: an object or a list is needed.'
  if ('duration' in value || 'value' in value) found.decisions.push(decisionAt(run, place, value))
  else if ('items' in value) found.allowlists.push(run.item('allowlist', place, value, aboutAllowlists))
  else {
    const members = ['decisions', 'allowlists', 'new'].filter((member) => member in value)
    if (members.length === 0) return 'has neither decisions nor the items of an allowlist.'
    for (const member of members)
      if (value[member] !== null) findOrRefuse(value[member], at(member), run, found)
  }
  return undefined
}

/** A part of an answer: the rest of it is taken. */
function findOrRefuse(value: unknown, place: string, run: ImportRun, found: Found): void {
  const reason = find(value, place, run, found)
  if (reason !== undefined) run.item('item', place, value).refuse(`It ${reason}`)
}

function decisionAt(run: ImportRun, place: string, value: unknown): Item {
  const item = run.item('decision', place, value, shownOfDecisions)
  item.call(item.get('value'))
  return item
}

// --- allowlists ---

const listNameCharsMax = 64
const aboutAllowlists = ['allowlist_id', 'console_managed', 'created_at', 'updated_at']

/** Ranges of allowlists, and those around them. */
class Allowed {
  readonly #own = new Map<string, string>()
  readonly #around = new Map<string, string>()

  add(cidr: Cidr, list: string): void {
    this.#own.set(formatCidr(cidr), list)
    for (const range of rangesAround(cidr)) this.#around.set(formatCidr(range), list)
  }

  /** The name of an allowlist with an entry that overlaps with the range. */
  overlapping(cidr: Cidr): string | undefined {
    const within = this.#around.get(formatCidr(cidr))
    if (within !== undefined) return within
    for (const range of rangesAround(cidr)) {
      const list = this.#own.get(formatCidr(range))
      if (list !== undefined) return list
    }
    return undefined
  }
}

function readAllowlist(run: ImportRun, list: Item, allowed: Allowed): void {
  const name = list.text('name') ?? 'allowlist'
  const entries = list.list('items').flatMap((value, index) => {
    const item = list.childOf('allowlist_item', `items[${index}]`, value, ['created_at'])
    const entry = item.isReadable ? allowedEntry(run, item) : undefined
    return entry === undefined ? [] : [{ item, entry }]
  })
  for (const { entry } of entries) allowed.add(cidrOf(entry.cidr), name)
  const id = `ipl_allow ${name}`
  const body = { name: listName(`crowdsec-allow-${name}`), description: list.text('description') }
  const parts = { entries: entries.map(({ entry }) => entry) }
  if (!run.account.add('ipList', list, id, body, parts)) return
  for (const { item } of entries) item.become(list.made!)
  list.change(
    `No rule names it, since a ban that overlaps with it is left out now. Later bans are not: an expression can ask for inList(conn.client_ip, '${body.name}').`,
  )
}

const listName = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .slice(0, listNameCharsMax)
    .replaceAll(/[_-]+$/g, '')

function allowedEntry(run: ImportRun, item: Item): IpListEntry | undefined {
  item.call(item.get('value'))
  const end = item.text('expiration')
  // Go's zero time: it never ends.
  const expires = end?.startsWith('0001-01-01') ? undefined : end
  const found = entryOrFault(item.get('value'), item.text('description'), expires)
  if (typeof found === 'string') item.refuse(found)
  else if (found.expiresAt !== null && found.expiresAt <= run.options.nowMs)
    item.refuse(`It ended at ${end}.`)
  else return shownEntry(found.cidr, found.comment, found.expiresAt)
  return undefined
}

const shownEntry = (cidr: string, comment: string | null, expiresAt: number | null): IpListEntry => ({
  cidr,
  comment,
  expires_at: expiresAt === null ? null : isoSeconds(expiresAt),
})

/** For a text that was checked before. */
function cidrOf(text: string): Cidr {
  const parsed = parseCidr(text, { hostBits: 'allow' })
  if (!parsed.ok) throw new Error(`${text} was checked before.`)
  return parsed.value
}

// --- decisions ---

interface Ban {
  readonly item: Item
  readonly cidr: string
  readonly comment: string | null
  readonly endsAtMs: number
}

const everyone = ['0.0.0.0/0', '::/0']
const policyId = 'ipp_crowdsec'

function readDecisions(run: ImportRun, decisions: readonly Item[], allowed: Allowed): void {
  const bans = { enforced: [] as Ban[], simulated: [] as Ban[] }
  for (const item of decisions) {
    const isSimulated = item.get('simulated') === true
    const ban = banOf(run, item, allowed)
    if (ban !== undefined) bans[isSimulated ? 'simulated' : 'enforced'].push(ban)
  }
  const denied = [
    { list: 'crowdsec-bans', enforced: true, bans: bans.enforced },
    { list: 'crowdsec-simulated-bans', enforced: false, bans: bans.simulated },
  ].filter((each) => each.bans.length > 0)
  if (denied.length === 0) return
  for (const { list, bans } of denied)
    becomeEntries(
      bans,
      run.account.make('ipList', `ipl_${list}`, { name: list }, { entries: entriesOf(bans) }),
    )
  run.account.make(
    'ipPolicy',
    policyId,
    { description: 'crowdsec' },
    {
      rules: [
        ...everyone.map((cidr) => ({ cidr, action: 'allow' })),
        ...denied.map(({ list, enforced }) => ({
          cidr: null,
          list: `ipl_${list}`,
          action: 'deny',
          enforced,
        })),
      ],
    },
  )
  run.remark(
    'The IP policy crowdsec lets in everyone who is not banned: name it in a restriction, or alone in an edge, since beside policies that let in a few it lets in all.',
  )
  run.remark(`Durations count from ${isoSeconds(run.options.atMs)}.`)
  run.remark('The list is what CrowdSec says now: import again, or let Weir decide on its own from here on.')
}

function banOf(run: ImportRun, item: Item, allowed: Allowed): Ban | undefined {
  const [scope, type] = [item.text('scope') ?? '', item.text('type') ?? '']
  const value = item.get('value')
  const endsAtMs = endOf(item, run.options.atMs)
  const reason = whyNoBan(scope, type, value, endsAtMs, run.options.nowMs)
  if (reason !== undefined) {
    item.refuse(reason)
    return undefined
  }
  const found = entryOrFault(value, item.text('scenario'))
  const list = typeof found === 'string' ? undefined : allowed.overlapping(cidrOf(found.cidr))
  if (typeof found === 'string') item.refuse(found)
  else if (list !== undefined)
    item.refuse(`The allowlist ${list} has it, or a part of it, so CrowdSec drops it.`)
  else return { item, cidr: found.cidr, comment: found.comment, endsAtMs: endsAtMs! }
  return undefined
}

function whyNoBan(
  scope: string,
  type: string,
  value: unknown,
  endsAtMs: number | undefined,
  nowMs: number,
): string | undefined {
  if (type.toLowerCase() !== 'ban') return `Weir lets in or refuses, and has no ${shown(type)}.`
  if (endsAtMs === undefined) return 'Its duration is not one of Go, such as 3h59m58.5s.'
  if (endsAtMs <= nowMs) return `It ended at ${isoSeconds(endsAtMs)}.`
  switch (scope.toLowerCase()) {
    case 'ip':
    case 'range':
      return undefined
    case 'country':
      return `An IP policy knows addresses alone. A traffic policy can deny conn.geo.country_code == ${JSON.stringify(value)}.`
    case 'as':
      return `An IP policy knows addresses alone. A traffic policy can deny conn.asn == ${String(value).replace(/\D/g, '') || '…'}.`
    default:
      return `Weir has no bans of the scope ${shown(scope)}.`
  }
}

/** Of the decisions about a range, the one that lasts longest counts. */
function entriesOf(bans: readonly Ban[]): IpListEntry[] {
  const last = new Map<string, Ban>()
  for (const ban of bans) {
    const other = last.get(ban.cidr)
    if (other === undefined || other.endsAtMs < ban.endsAtMs) last.set(ban.cidr, ban)
    if (other !== undefined)
      (other.endsAtMs < ban.endsAtMs ? other : ban).item.change(
        'Another ban of its range lasts at least as long.',
      )
  }
  return [...last.values()].map(({ cidr, comment, endsAtMs }) => shownEntry(cidr, comment, endsAtMs))
}

function becomeEntries(bans: readonly Ban[], made: Made): void {
  for (const { item } of bans) item.become(made)
}

// --- durations ---

const goDuration = /^-?(?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h))+$/
const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}

/** In whole seconds, so that a ban does not end early; undefined if nothing says when. */
function endOf(item: Item, atMs: number): number | undefined {
  const [until, duration = ''] = [item.text('until'), item.text('duration')]
  const untilSeconds = until === undefined ? undefined : parseTimestamp(until)
  if (untilSeconds !== undefined) return inShownYears(Math.ceil(untilSeconds))
  const ms = goDuration.test(duration) ? durationMs(duration) : undefined
  return ms === undefined ? undefined : inShownYears(Math.ceil((atMs + ms) / 1000))
}

/** Go's longest duration is one of 292 years, but an answer may say any: an end beyond all times is the last one. */
const inShownYears = (seconds: number): number => Math.min(Math.max(seconds, 0), lastSecond) * 1000

/** As Go writes durations: `3h59m58.517s`. */
function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([a-zµμ]+)/g)]
  const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit!]!, 0)
  return text.startsWith('-') ? -ms : ms
}
