/** A plan as a draft of the account: everything in it that decides about records, at once. */
import type { JsonObject } from '../../../ground/core/json-object.js'
import type { AccountDraft } from '../../../words/shape/account-draft.js'
import type { Live } from '../account-state.js'
import type { Difference, Plan } from '../difference.js'
import { isAddressToBe } from '../drawn-addresses.js'
import type { Body } from '../managed-kinds.js'
import type { Part } from '../part-differences.js'
import { type Line, line } from './report-lines.js'

type Entry = Readonly<Record<string, unknown>>
type Section = 'ip_policies' | 'ip_lists' | 'tcp_edges' | 'https_edges' | 'ip_restrictions'

/** A policy test by what the files call it. */
interface NamedTest {
  readonly description: string
  readonly given: unknown
  readonly expect: unknown
}

interface PlanDraft {
  readonly draft: AccountDraft
  /** Is anything in it? */
  readonly decides: boolean
  /** Tests of the files, and those that the account keeps besides. */
  readonly tests: { readonly files: readonly NamedTest[]; readonly kept: readonly NamedTest[] }
  /** What it can't say. */
  readonly gaps: readonly Line[]
}

const descriptionCharsMax = 255

/** `accountTests`: the policy tests of the account. */
export function draftOf(plan: Plan, accountTests: readonly Live[]): PlanDraft {
  const drafted = plan.differences.filter(({ kind }) => kind.section in entryOf)
  const sections: Partial<Record<Section, Entry[]>> = {}
  for (const each of drafted) {
    if (each.action === 'delete') continue
    const section = each.kind.section as Section
    sections[section] ??= []
    sections[section].push({ id: each.id, ...entryOf[section](each) })
  }
  const isGone = ({ action }: Difference): boolean => action === 'delete' || action === 'replace'
  const tests = testsOf(plan, accountTests)
  return {
    draft: {
      ...sections,
      removes: drafted.filter(isGone).map(({ live }) => live!.id),
      policy_tests: tests.files.map((test) => ({ ...test })),
    },
    decides: drafted.length > 0,
    tests,
    gaps: [...gapsOf(plan.differences), ...unservedNames(drafted)],
  }
}

/** A resource of which only members differ that no decision depends on is given, too: it changes nothing. */
const entryOf: Readonly<Record<Section, (difference: Difference) => Entry>> = {
  ip_policies: ({ body, written, parts, live }) => ({
    // The answer repeats it.
    description: written['description'] ?? body['description'] ?? '',
    rules: parts.rules === undefined ? (live?.rules ?? []) : parts.rules.map(entryOfPart),
  }),
  // A number: the list keeps the entries that it has. The source may have secrets, and its entries come later.
  ip_lists: ({ body: { name, category }, parts, live }) => ({
    name,
    category,
    entries: parts.entries ?? (live === undefined ? [] : 0),
  }),
  tcp_edges: ({ body }) => edgeOf(body),
  https_edges: ({ body, parts, live }) => ({ ...edgeOf(body), routes: routesOf(parts, live) }),
  ip_restrictions: ({ body }) => ({ ...body }),
}

/** No decision depends on the backend. */
const edgeOf = ({ backend: _, ...body }: Body): Entry => body
const entryOfPart = ({ id, body }: Part): Entry => ({ id, ...edgeOf(body) })

function routesOf(
  { routes = [], routesRemoved = [] }: Difference['parts'],
  live: Difference['live'],
): readonly JsonObject[] {
  const replaced = new Set([...routesRemoved, ...routes.map(({ id }) => id)])
  // Of an edge that is replaced, all routes are new.
  const staying = (live?.routes ?? []).filter(({ id }) => !replaced.has(String(id)))
  return [...staying, ...routes.map(entryOfPart)]
}

function testsOf({ differences, others, nameOf }: Plan, accountTests: readonly Live[]): PlanDraft['tests'] {
  const ofTests = differences.filter(({ kind }) => kind.name === 'policyTest')
  const changed = new Set(ofTests.map(({ live }) => live?.id))
  const isOther = new Set(others.map(({ live }) => live.id))
  const named = (id: string, { description, given, expect }: Body): NamedTest => ({
    description: String(description || nameOf(id)).slice(0, descriptionCharsMax),
    given,
    expect,
  })
  const written = ofTests
    .filter(({ action }) => action !== 'delete')
    .map(({ name, body, written: { description } }) =>
      named(name, { ...body, ...(description !== undefined && { description }) }),
    )
  const present = accountTests.filter(({ id }) => !changed.has(id))
  const unchanged = present.filter(({ id }) => !isOther.has(id)).map(({ id, body }) => named(id, body))
  const kept = present.filter(({ id }) => isOther.has(id)).map(({ id, body }) => named(id, body))
  return { files: [...written, ...unchanged], kept }
}

function gapsOf(differences: readonly Difference[]): Line[] {
  const ofLists = differences.filter(
    ({ kind, action, body }) => kind.name === 'ipList' && action !== 'delete' && body['source'],
  )
  const lists = ofLists.map(({ name, live }) =>
    live === undefined
      ? line`The list ${name} gets its entries from its source after it is made: here it has none.`
      : line`The list ${name} is filled by a source: here it has the entries that it has now.`,
  )
  const silent = differences.filter(
    ({ kind, body }) => kind.name === 'ipRestriction' && body['type'] !== 'endpoints',
  )
  const restrictions = silent.map(
    ({ body }) => line`Records say nothing about the restriction of the type ${String(body['type'])}.`,
  )
  const apart = new Set(
    differences.flatMap(({ kind }) =>
      kind.section in entryOf || kind.name === 'policyTest' ? [] : kind.section,
    ),
  )
  const sections =
    apart.size === 0 ? [] : [line`No decision about records depends on ${[...apart].join(', ')}.`]
  return [...lists, ...restrictions, ...sections]
}

const namesShown = 3

/** Records of names without an edge belong to no account. */
function unservedNames(drafted: readonly Difference[]): Line[] {
  const namesIn = (body: Body | undefined) => (body?.['hostports'] ?? []) as readonly string[]
  const before = new Set(drafted.flatMap(({ live }) => namesIn(live?.body)))
  const added = drafted.flatMap(({ action, body, written }) => {
    if (action === 'delete') return []
    const names = namesIn(body).filter((name) => !before.has(name) && !isAddressToBe(name))
    return names.length > 0 && 'hostports' in written ? namesIn(written) : names
  })
  if (added.length === 0) return []
  const shown = added.slice(0, namesShown).join(', ')
  const names = added.length > namesShown ? `${shown}, …` : shown
  return [
    line`Records of names that no edge serves now (${names}) are looked at only if they name the account, or there is no other account.`,
  ]
}
