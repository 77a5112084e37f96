/** The query parameter `covers` of lists of rules: those whose range contains an address or a range, the narrowest first. */
import { formatCidr, parseCidr, rangesAround } from '../../ground/core/address/cidr.js'
import { badRequest, shown } from '../../ground/core/errors.js'
import { Type } from '../../ground/core/schema.js'
import { ipPolicyRule } from '../../words/resource/ip-policy.js'
import type { AnyResource } from '../../words/resource/kind/define.js'

/** More rules than this are refused: a policy has 129 at most, one for each prefix. */
export const coveringMax = 1_000

export const coversParameter = Type.Optional(
  Type.String({
    maxLength: 64,
    description: `An address, or a range in CIDR notation: rules, or entries of a list, whose range contains it as a whole are listed; of rules, the narrowest first. More than ${coveringMax} are refused.`,
  }),
)

export const hasRanges = ({ kind }: Pick<AnyResource, 'kind'>): boolean => kind === ipPolicyRule.kind

/** The ranges of such rules, as rules spell them; undefined without the parameter. */
export function coversIn(text: string | undefined): ReadonlySet<unknown> | undefined {
  if (text === undefined) return undefined
  const cidr = parseCidr(text, { hostBits: 'refuse' })
  if (!cidr.ok) throw badRequest(`The query parameter "covers" is wrong: ${cidr.problem.msg}`)
  return new Set([...rangesAround(cidr.value)].map(formatCidr))
}

interface Covering {
  readonly id: string
  readonly cidr: string
}

/** A page of the rules that were found, given as JSON and newest first. */
export function coveringPage(found: readonly string[], limit: number, beforeId: string | undefined) {
  const rules = found.map((json) => ({ json, ...(JSON.parse(json) as Covering) }))
  const sorted = rules.toSorted((one, other) => prefixOf(other) - prefixOf(one))
  const before = sorted.findIndex(({ id }) => id === beforeId)
  if (beforeId !== undefined && before === -1)
    throw badRequest(
      `The query parameter "before_id" is ${shown(beforeId)}, which is not among these rules any more: begin again without it.`,
    )
  const page = sorted.slice(before + 1, before + 1 + limit)
  const hasMore = before + 1 + limit < sorted.length
  return { page: page.map(({ json }) => json), last: page.at(-1)?.id, hasMore }
}

const prefixOf = ({ cidr }: Covering): number => Number(cidr.slice(cidr.indexOf('/') + 1))
