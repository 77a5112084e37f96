/** Bans in the form of CrowdSec's local API, version 1: `crowdsecurity/crowdsec`, `pkg/models/localapi_swagger.yaml`. */
import { isOneAddress } from '../../../ground/core/address/cidr.js'
import { Slices } from '../../../ground/core/slices.js'
import type { Ban } from '../../insight/bans/bans.js'

/** The duration of a ban without an end: ten years. Go's durations have no word for "for ever". */
const lastingSeconds = 10 * 365 * 24 * 60 * 60

/** Go's form of a duration. One that is over is negative. */
function duration({ endMs }: Ban, nowMs: number): string {
  const seconds = endMs === Number.POSITIVE_INFINITY ? lastingSeconds : Math.round((endMs - nowMs) / 1000)
  const [sign, left] = seconds < 0 ? ['-', -seconds] : ['', seconds]
  return `${sign}${Math.floor(left / 3600)}h${Math.floor((left % 3600) / 60)}m${left % 60}s`
}

/** Texts of 16 bits each, made with the first of them: a pull has hundreds of thousands. */
let hexTexts: readonly string[] | undefined

const hexOf = (bits: number): string => {
  hexTexts ??= Array.from({ length: 0x10000 }, (_, value) => value.toString(16).padStart(4, '0'))
  return hexTexts[bits & 0xffff]!
}

/**
 * The number and the UUID of a ban, which depend on its range alone: whatever bans the range later, programs find what they
 * have of it. 128 bits are mixed as in cyrb128 by bryc, which is in the public domain; the number is 53 of them. SHA-256 by
 * Node would be shorter to read, and took 140 ms more of CPU for 100,000 bans, a seventh of what a whole pull may take.
 */
function idsOf(cidr: string): { readonly id: number; readonly uuid: string } {
  let [a, b, c, d] = [1779033703, 3144134277, 1013904242, 2773480762]
  for (let index = 0; index < cidr.length; index += 1) {
    const code = cidr.charCodeAt(index)
    a = b ^ Math.imul(a ^ code, 597399067)
    b = c ^ Math.imul(b ^ code, 2869860233)
    c = d ^ Math.imul(c ^ code, 951274213)
    d = a ^ Math.imul(d ^ code, 2716044179)
  }
  a = Math.imul(c ^ (a >>> 18), 597399067)
  b = Math.imul(d ^ (b >>> 22), 2869860233)
  c = Math.imul(a ^ (c >>> 17), 951274213)
  d = Math.imul(b ^ (d >>> 19), 2716044179)
  const uuid = `${hexOf(a >>> 16)}${hexOf(a)}-${hexOf(b >>> 16)}-${hexOf(b)}-${hexOf(c >>> 16)}-${hexOf(c)}${hexOf(d >>> 16)}${hexOf(d)}`
  return { id: (a >>> 0) + (b & 0x1fffff) * 2 ** 32, uuid }
}

const addressOf = (cidr: string): string => cidr.slice(0, cidr.lastIndexOf('/'))

/** As JSON. A program may expect a reason. */
function decisionJson(ban: Ban, nowMs: number): string {
  const { cidr, origin, reason } = ban
  const scope = isOneAddress(cidr) ? 'Ip' : 'Range'
  const value = scope === 'Ip' ? addressOf(cidr) : cidr
  const { id, uuid } = idsOf(cidr)
  return `{"duration":"${duration(ban, nowMs)}","id":${id},"origin":"${origin}","scenario":${JSON.stringify(reason)},"scope":"${scope}","type":"ban","uuid":"${uuid}","value":"${value}"}`
}

/**
 * Texts that are joined at once: 100,000 short ones that live until the end cost the collector more than it takes to make
 * them.
 */
const joinedMax = 500

/** A list of decisions, in slices. */
export async function decisionsJson(bans: Iterable<Ban | undefined>, nowMs: number): Promise<string> {
  const slices = new Slices()
  const joined: string[] = []
  let texts: string[] = []
  for (const ban of bans) {
    if (slices.isDue()) await slices.pause()
    if (ban !== undefined) texts.push(decisionJson(ban, nowMs))
    if (texts.length < joinedMax) continue
    joined.push(texts.join(','))
    texts = []
  }
  if (texts.length > 0) joined.push(texts.join(','))
  return `[${joined.join(',')}]`
}
