/** The differences of parts that are written by themselves: rules of a policy, routes of an edge, entries of a list. */
import { now } from '../../ground/core/clock.js'
import type { JsonObject } from '../../ground/core/json-object.js'
import { isExpiredRule, subjectOfRule } from '../../words/resource/ip-policy.js'
import type { Fields } from '../../words/resource/kind/define.js'
import type { Live } from './account-state.js'
import type { EntryBodies } from './entry-bodies.js'
import { comparable, givenFields, givenOf, isEqual } from './given.js'
import { listEntriesIn } from './list-entries.js'
import type { LocalIds } from './local-ids.js'
import { type Body, route, rule } from './managed-kinds.js'
import { matchOf, ruleName } from './references.js'
import type { Place } from './source-files.js'
import type { Wanted } from './wanted.js'

/** Parts of a resource that are written by themselves. */
interface PartChange {
  readonly added: number
  readonly changed: number
  readonly removed: number
}

/** A rule or a route. */
export interface Part {
  /** Provisional if it is new. */
  readonly id: string
  readonly isNew: boolean
  readonly body: Body
  /** Its members that differ, if it is there. */
  readonly changed: readonly string[]
}

/** What is to be written; parts are undefined where they stay. */
export interface Parts {
  /** All rules. One whose action differs is a new one. */
  readonly rules?: readonly Part[]
  /** Expired ones included. */
  readonly rulesRemoved?: readonly string[]
  readonly entries?: readonly unknown[]
  /** Those that differ. */
  readonly routes?: readonly Part[]
  readonly routesRemoved?: readonly string[]
  readonly counts: Readonly<Record<string, PartChange>>
}

const ruleFields = givenFields(rule, ['ip_policy_id'])
const routeFields = givenFields(route, ['edge_id'])

export class PartDifferences {
  readonly #bodies: EntryBodies
  readonly #names: LocalIds

  constructor(bodies: EntryBodies, names: LocalIds) {
    this.#bodies = bodies
    this.#names = names
  }

  of({ kind, place, parts, name }: Wanted, id: string, live: Live | undefined): Parts {
    if (kind.name === 'ipPolicy') return this.#rules(place, parts['rules'], id, live)
    if (kind.name === 'httpsEdge') return this.#routes(place, parts['routes'], name, live)
    if (kind.name === 'ipList') return this.#entries(place, parts['entries'], live)
    return { counts: {} }
  }

  #rules(place: Place, given: unknown, policyId: string, live: Live | undefined): Parts {
    const wanted = this.#bodies.listOf(place, 'rules', given, ruleFields)
    const nowMs = now()
    const before = (live?.rules ?? []).filter((each) => !isExpiredRule(each as never, nowMs))
    const known = new Map(before.map((each) => [subjectOfRule(givenOf(ruleFields, each) as never), each]))
    const rules: Part[] = []
    let [added, changed] = [0, 0]
    for (const body of wanted) {
      if (isExpiredRule(body as never, nowMs)) continue
      const subject = subjectOfRule(body as never)
      const one = known.get(subject)
      known.delete(subject)
      const differing = one === undefined ? [] : differingIn(ruleFields, body, one)
      const isNew = one === undefined || differing.includes('action')
      const id = isNew ? this.#names.provisional(rule.idPrefix) : String(one['id'])
      const name = body['list_id'] === null ? subject : this.#names.nameOf(subject)
      for (const each of [name, ruleName(policyId, name)]) this.#names.add(rule.kind, each, id)
      if (one === undefined) added += 1
      else if (differing.length > 0) changed += 1
      rules.push({ id, isNew, body, changed: differing })
    }
    const kept = new Set(rules.map(({ id }) => id))
    const rulesRemoved = (live?.rules ?? []).map((each) => String(each['id'])).filter((id) => !kept.has(id))
    return partsOf('rules', { rules, rulesRemoved }, { added, changed, removed: known.size })
  }

  #routes(place: Place, given: unknown, edgeName: string, live: Live | undefined): Parts {
    const wanted = this.#bodies.listOf(place, 'routes', given, routeFields)
    const known = new Map((live?.routes ?? []).map((each) => [matchOf(givenOf(routeFields, each)), each]))
    const routes: Part[] = []
    let [added, changed] = [0, 0]
    for (const body of wanted) {
      const match = matchOf(body)
      const one = known.get(match)
      known.delete(match)
      const id = one === undefined ? this.#names.provisional(route.idPrefix) : String(one['id'])
      this.#names.add(route.kind, `${edgeName}${match}`, id)
      const differing = one === undefined ? [] : differingIn(routeFields, body, one)
      if (one !== undefined && differing.length === 0) continue
      if (one === undefined) added += 1
      else changed += 1
      routes.push({ id, isNew: one === undefined, body, changed: differing })
    }
    const routesRemoved = [...known.values()].map((each) => String(each['id']))
    return partsOf('routes', { routes, routesRemoved }, { added, changed, removed: known.size })
  }

  #entries(place: Place, given: unknown, live: Live | undefined): Parts {
    if (given === undefined) return { counts: {} }
    if (!Array.isArray(given)) {
      this.#bodies.fault(
        { ...place, path: `${place.path}.entries` },
        `"${place.path}.entries" must be a list.`,
      )
      return { counts: {} }
    }
    const entries = listEntriesIn(given, `${place.path}.entries`, (path, msg) =>
      this.#bodies.fault({ ...place, path }, msg),
    )
    const before = live?.entries ?? []
    if (isEqual(entries, before)) return { counts: {} }
    const [textsBefore, texts] = [before, entries].map(
      (all) => new Set(all.map((each) => JSON.stringify(each))),
    )
    const added = [...texts!].filter((each) => !textsBefore!.has(each)).length
    const removed = [...textsBefore!].filter((each) => !texts!.has(each)).length
    return { entries, counts: { entries: { added, changed: 0, removed } } }
  }
}

function partsOf(name: string, parts: Omit<Parts, 'counts'>, counts: PartChange): Parts {
  const { added, changed, removed } = counts
  return added + changed + removed === 0 ? { counts: {} } : { ...parts, counts: { [name]: counts } }
}

function differingIn(fields: Fields, body: Body, shownPart: JsonObject): string[] {
  const [wanted, present] = [comparable(fields, body), comparable(fields, givenOf(fields, shownPart))]
  return Object.keys(fields).filter((name) => !isEqual(wanted[name], present[name]))
}
