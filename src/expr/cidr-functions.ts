/** `inCidrRange` and `inCidrRanges`: what can be read when the expression is saved is read then. */

import { type Cidr, cidrContains, compileCidr, parseCidr } from '../core/address/cidr.js'
import { compileCidrSet } from '../core/address/cidr-set.js'
import { type Address, isAddress, parseAddress } from '../core/address/ip.js'
import { ok, problem, type Result, shown } from '../core/errors.js'
import type { StepBudget } from './budget.js'
import type { ExpressionFunction } from './function-type.js'

/** Reading a range takes about this many steps. */
const stepsPerRange = 10

/** In an expression a range may be written with any of its addresses, and a bare address is a range of one. */
const readRange = (value: unknown): Result<Cidr> => parseCidr(value, { hostBits: 'allow' })

const checkAddress = (value: unknown): string | undefined =>
  value === undefined || isAddress(value) ? undefined : `${shown(value)} is not an IP address`

function checkRange(value: unknown): string | undefined {
  const range = readRange(value)
  return range.ok ? undefined : withoutStop(range.problem.msg)
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '')

/** Is the address in a range that is read only now? Bad and missing ranges hold no address. */
function inUnreadRange(address: Address, range: unknown, budget: StepBudget): boolean {
  budget.take(stepsPerRange)
  if (typeof range !== 'string') return false
  const cidr = readRange(range)
  return cidr.ok && cidrContains(cidr.value, address)
}

export const inCidrRange: ExpressionFunction = {
  name: 'inCidrRange',
  about: 'Whether the address is in the range.',
  example: "conn.client_ip|inCidrRange('10.0.0.0/8')",
  parameters: ['ip', 'cidr'],
  isQuestion: true,
  checkFirst: checkAddress,
  withSecond: (range) => {
    const cidr = readRange(range)
    return cidr.ok ? ok(compileCidr(cidr.value)) : problem(withoutStop(cidr.problem.msg))
  },
  call: (text, range, budget) => {
    const address = parseAddress(text)
    return address.family !== 0 && inUnreadRange(address, range, budget)
  },
}

export const inCidrRanges: ExpressionFunction = {
  name: 'inCidrRanges',
  about: 'Whether the address is in one of the ranges.',
  example: "inCidrRanges(conn.client_ip, ['10.0.0.0/8', '2001:db8::/32'])",
  parameters: ['ip', '[cidr…]'],
  isQuestion: true,
  checkFirst: checkAddress,
  checkItem: checkRange,
  withSecond: (ranges) => {
    if (!Array.isArray(ranges)) return problem(`${shown(ranges)} is not a list of ranges in CIDR notation`)
    const bad = ranges.map(checkRange).find((msg) => msg !== undefined)
    if (bad !== undefined) return problem(bad)
    const set = compileCidrSet(ranges)
    return ok((text) => set.has(parseAddress(text)))
  },
  call: (text, ranges, budget) => {
    const address = parseAddress(text)
    if (!Array.isArray(ranges) || address.family === 0) return false
    for (const range of ranges) if (inUnreadRange(address, range, budget)) return true
    return false
  },
}
