/** Bans in the form of CrowdSec's local API, version 1: `crowdsecurity/crowdsec`, `pkg/models/localapi_swagger.yaml`. */
import { isOneAddress } from '../../core/address/cidr.js'
import { Slices } from '../../core/slices.js'
import type { Ban } from '../../insight/bans.js'

/** Of a rule without an end: ten years. Go's durations have no word for "for ever". */
const lastingSeconds = 10 * 365 * 24 * 60 * 60

/** Go's form of a duration. One that is over is negative. */
function duration(rule: Ban, nowMs: number): string {
  const seconds = rule.expires_at ? Math.round((Date.parse(rule.expires_at) - nowMs) / 1000) : lastingSeconds
  const [sign, left] = seconds < 0 ? ['-', -seconds] : ['', seconds]
  return `${sign}${Math.floor(left / 3600)}h${Math.floor((left % 3600) / 60)}m${left % 60}s`
}

/** Values of the characters of a ULID, by their codes; others count as 0. */
const digits = new Uint8Array(128)
for (const [value, char] of [...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'].entries()) {
  digits[char.charCodeAt(0)] = value
  digits[char.toLowerCase().charCodeAt(0)] = value
}

const ulidChars = 26

/** Characters of the rule's ULID as a number: at most ten, of five bits each. By place from its end. */
function numberIn(id: string, fromEnd: number, chars: number): number {
  let number = 0
  const start = id.length - fromEnd
  for (let index = Math.max(0, start); index < start + chars; index += 1)
    number = number * 32 + (digits[id.charCodeAt(index) & 127] ?? 0)
  return number
}

/** The lower 50 bits of the rule's id: stable, and different for the rules that one process makes in a row. */
const decisionId = ({ id }: Ban): number => numberIn(id, 10, 10)

/** Texts of 16 bits each, made with the first of them: a pull has hundreds of thousands. */
let hexTexts: readonly string[] | undefined

const hexOf = (bits: number): string => {
  hexTexts ??= Array.from({ length: 0x10000 }, (_, value) => value.toString(16).padStart(4, '0'))
  return hexTexts[bits & 0xffff]!
}

const bits32 = 2 ** 32

/** The 128 bits of the rule's id. */
function uuidOf({ id }: Ban): string {
  const time = numberIn(id, ulidChars, 10)
  const [high, low] = [numberIn(id, 16, 8), numberIn(id, 8, 8)]
  const middle = ((high & 0xff) << 8) | (low / bits32)
  return `${hexOf(time / bits32)}${hexOf(time >>> 16)}-${hexOf(time)}-${hexOf(high / 2 ** 24)}-${hexOf(high >>> 8)}-${hexOf(middle)}${hexOf(low >>> 16)}${hexOf(low)}`
}

const addressOf = (cidr: string): string => cidr.slice(0, cidr.lastIndexOf('/'))

/** As JSON. A program may expect a reason. */
function decisionJson(rule: Ban, nowMs: number): string {
  const { cidr, description } = rule
  const scope = isOneAddress(cidr) ? 'Ip' : 'Range'
  const value = scope === 'Ip' ? addressOf(cidr) : cidr
  return `{"duration":"${duration(rule, nowMs)}","id":${decisionId(rule)},"origin":"weir","scenario":${JSON.stringify(description || 'weir')},"scope":"${scope}","type":"ban","uuid":"${uuidOf(rule)}","value":"${value}"}`
}

/** A list of the decisions that are wanted, in slices. */
export async function decisionsJson(
  rules: Iterable<Ban>,
  isWanted: (rule: Ban) => boolean,
  nowMs: number,
): Promise<string> {
  const slices = new Slices()
  const texts: string[] = []
  for (const rule of rules) {
    if (slices.isDue()) await slices.pause()
    if (isWanted(rule)) texts.push(decisionJson(rule, nowMs))
  }
  return `[${texts.join(',')}]`
}
