/**
 * The requests that carry out a plan, in their order. Each is valid after those before it: first what is changed and made,
 * kind by kind, since each may refer to those before it, and then what is left over is deleted, in reverse.
 *
 * One batch takes them all where it can. Not if a name goes from one resource to another, because a batch can't give it up
 * and take it: then what has the name is changed or deleted before (`early`), and so are policy tests, which would hold
 * that up.
 */
import type { JsonObject } from '../../ground/core/json-object.js'
import type { AnyResource, Fields } from '../../words/resource/kind/define.js'
import type { BatchPart } from '../../words/shape/batch.js'
import type { Step } from './batch-writer.js'
import { changesBody, type Difference, isRemoved, type Plan, sentBody } from './difference.js'
import { hostportsGivenUp } from './given-up-hostports.js'
import { type Body, managedKinds, route as routeKind, rule as ruleKind } from './managed-kinds.js'
import type { Part } from './part-differences.js'
import { whyMissing } from './placeholders.js'
import { replaceSecrets } from './secret-members.js'

interface Steps {
  readonly early: readonly Step[]
  readonly main: readonly Step[]
}

const isClaimed = ({ claims, claimsAreDrawn }: AnyResource): boolean =>
  claims !== undefined && !claimsAreDrawn
const isTest = ({ kind }: Difference): boolean => kind.name === 'policyTest'
const isKey = ({ kind }: Difference): boolean => kind.name === 'apiKey'
const isDeletion = ({ action }: Difference): boolean => action === 'delete' || action === 'replace'
const orderOf = ({ kind }: Difference): number => managedKinds.indexOf(kind)

/**
 * `inSteps`: by several batches, so that what holds names and tests that change goes first. `written`: differences that were
 * made before. Keys are not deleted here.
 */
export function stepsOf(
  { differences, secrets }: Plan,
  inSteps: boolean,
  written: ReadonlySet<Difference>,
): Steps {
  const left = differences.filter((each) => !written.has(each))
  const isEarly = (each: Difference): boolean =>
    inSteps && (isTest(each) ? each.action !== 'create' : isDeletion(each) && isClaimed(each.kind.resource))
  const made = managedKinds.flatMap((kind) => {
    const ofKind = left.filter((each) => each.kind === kind && each.action !== 'delete')
    const isUpdate = (each: Difference): boolean => each.action === 'update' && !isEarly(each)
    return [
      ...ofKind.filter(isUpdate).map(updateStep),
      ...ofKind.filter((each) => !isUpdate(each)).map((each) => creationStep(each, isEarly(each))),
    ]
  })
  const leftOver = differences
    .filter((each) => isDeletion(each) && !isEarly(each) && !isKey(each))
    .toSorted((one, other) => orderOf(other) - orderOf(one))
  const early = left.filter(isEarly).map((each) => deletionStep(each, each.action === 'delete'))
  return {
    early: [...early, ...(inSteps ? givingUp(left) : [])],
    main: [...made, ...leftOver.map((each) => deletionStep(each)), ...secrets.map(secretStep)],
  }
}

/** Is a name to belong to another resource than before? */
export function movesNames(differences: readonly Difference[]): boolean {
  const claimsOf = ({ kind }: Difference, body: Body | undefined): readonly string[] =>
    (body && isClaimed(kind.resource) && kind.resource.claims?.(body as never)) || []
  const written = differences.filter(({ action }) => action !== 'delete')
  const gained = new Set(
    written.flatMap((each) => {
      const before = each.action === 'update' ? claimsOf(each, each.live?.body) : []
      return claimsOf(each, each.body).filter((claim) => !before.includes(claim))
    }),
  )
  return differences.some((each) => {
    const after = each.action === 'update' ? claimsOf(each, each.body) : []
    return claimsOf(each, each.live?.body).some((claim) => gained.has(claim) && !after.includes(claim))
  })
}

/** A hostport belongs to one edge: what another edge is to get is given up before. */
const givingUp = (differences: readonly Difference[]): Step[] =>
  hostportsGivenUp(differences).map(({ difference: { kind, id, name }, hostports }) => ({
    kind,
    name,
    requests: [{ method: 'PATCH', path: `${kind.resource.path}/${id}`, body: { hostports } }],
  }))

function deletionStep(difference: Difference, isLast = true): Step {
  const { kind, name, live } = difference
  const path = `${kind.resource.path}/${live!.id}`
  return { kind, name, requests: [{ method: 'DELETE', path }], ...(isLast && { done: difference }) }
}

/** One that replaces another is done when that is deleted, unless it is deleted by now: `isFree`. */
export function creationStep(difference: Difference, isFree: boolean): Step {
  const { action, kind, name, id, body } = difference
  const made: BatchPart = { method: 'POST', path: kind.resource.path, body: sentBody(body), as: id }
  const isLast = action !== 'replace' || isFree
  const requests = [made, ...partRequests(difference)]
  return { kind, name, requests, ...(isLast && { done: difference }) }
}

function updateStep(difference: Difference): Step {
  const { kind, name, id, body, fields } = difference
  const names = fields.map((each) => each.name)
  const changed = changeRequests(kind.resource, `${kind.resource.path}/${id}`, body, names)
  return { kind, name, requests: [...changed, ...partRequests(difference)], done: difference }
}

/** Lists and policies alone, without their entries and rules. */
export function withoutParts(difference: Difference): Step {
  const bare = { ...difference, parts: { counts: {} } }
  return {
    ...(difference.action === 'update' ? updateStep(bare) : creationStep(bare, true)),
    done: undefined,
  }
}

/** Modules are removed by themselves. */
function changeRequests(
  { fields }: AnyResource,
  path: string,
  body: Body,
  names: readonly string[],
): BatchPart[] {
  const values = changesBody(fields, body, names)
  const patch: BatchPart[] =
    Object.keys(values).length > 0 ? [{ method: 'PATCH', path, body: withoutMissing(fields, values) }] : []
  const removed = names.filter((name) => isRemoved(fields, body, name))
  return [...patch, ...removed.map((name): BatchPart => ({ method: 'DELETE', path: `${path}/${name}` }))]
}

function partRequests({ kind, id, parts }: Difference): BatchPart[] {
  const { rules, rulesRemoved = [], entries, routes = [], routesRemoved = [] } = parts
  const path = `${kind.resource.path}/${id}`
  const filled: BatchPart[] =
    entries === undefined ? [] : [{ method: 'PUT', path: `${path}/entries`, body: { entries } }]
  return [
    ...filled,
    ...deletions(ruleKind.path, rulesRemoved),
    ...(rules ?? []).flatMap((each) =>
      partRequest(ruleKind, ruleKind.path, { ...each, body: { ...each.body, ip_policy_id: id } }),
    ),
    ...deletions(`${path}/routes`, routesRemoved),
    ...routes.flatMap((each) => partRequest(routeKind, `${path}/routes`, each)),
  ]
}

const deletions = (path: string, ids: readonly string[]): BatchPart[] =>
  ids.map((id) => ({ method: 'DELETE', path: `${path}/${id}` }))

const partRequest = (resource: AnyResource, path: string, { id, isNew, body, changed }: Part): BatchPart[] =>
  isNew
    ? [{ method: 'POST', path, body: sentBody(body), as: id }]
    : changeRequests(resource, `${path}/${id}`, body, changed)

/** A secret is not shown, so each is sent: the same one changes nothing. */
const secretStep = ({ kind, name, id, body }: Plan['secrets'][number]): Step => ({
  kind,
  name,
  requests: [{ method: 'PATCH', path: `${kind.resource.path}/${id}`, body }],
})

/** Without secrets that can't be read: they stay as they are. */
const withoutMissing = (fields: Fields, body: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      replaceSecrets(fields[name]!.schema, value, (secret) =>
        whyMissing(secret) === undefined ? secret : undefined,
      ),
    ]),
  )
