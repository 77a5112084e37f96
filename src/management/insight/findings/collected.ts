/** The findings so far, with a bound for each kind. */
import type { Slices } from '../../../ground/core/slices.js'
import type { Links, Row } from '../../../words/resource/kind/define.js'
import { type DeclaredRow, resourceOf } from '../../../words/resource/registry.js'
import {
  type Finding,
  type FindingKind,
  type Findings,
  findingKinds,
  findingsListedMax,
} from '../../../words/shape/finding.js'
import { ruleKind } from '../../../words/view/keys.js'
import { nameOfSubject } from '../../../words/view/rule-subject.js'
import type { ViewState } from '../../../words/view/view-state.js'
import { pathOf } from '../../exchange/rows.js'
import type { RowTime } from '../../store/logs/row-times.js'

/** The arguments of every search. */
export interface Search {
  readonly state: ViewState
  readonly accountId: string
  readonly nowMs: number
  /** The time by which traffic is looked at: when it was stored, or when it began, with loaded records of the past. */
  readonly time: RowTime
  readonly slices: Slices
  readonly found: Collected
}

type Place = Finding['about']

type Found = Pick<Finding, 'kind' | 'severity' | 'about' | 'sentence'> & {
  readonly evidence?: Partial<Finding['evidence']>
  readonly draft?: Finding['draft']
}

const noEvidence: Finding['evidence'] = {
  since: null,
  until: null,
  looked_at: null,
  matched: null,
  uses: null,
  by: null,
  used_by: null,
  expression: null,
}

interface OfKind {
  lookedAt: number
  found: number
  unknown: string | null
  readonly listed: Finding[]
}

export class Collected {
  readonly links: Links
  readonly #kinds = new Map<FindingKind, OfKind>(
    findingKinds.map((kind) => [kind, { lookedAt: 0, found: 0, unknown: null, listed: [] }]),
  )

  readonly #listedMax: number

  /** `listedMax`: of each kind. */
  constructor(links: Links, listedMax = findingsListedMax) {
    this.links = links
    this.#listedMax = listedMax
  }

  lookedAt(kind: FindingKind, parts = 1): void {
    this.#kinds.get(kind)!.lookedAt += parts
  }

  /** Some parts could not be judged; the first reason is told. */
  unknown(kind: FindingKind, reason: string): void {
    this.#kinds.get(kind)!.unknown ??= reason
  }

  /** `make` is called only if the finding is listed. */
  add(kind: FindingKind, make: () => Omit<Found, 'kind'>): void {
    const ofKind = this.#kinds.get(kind)!
    ofKind.found += 1
    if (ofKind.listed.length >= this.#listedMax) return
    const { evidence, draft = null, ...rest } = make()
    ofKind.listed.push({ kind, ...rest, evidence: { ...noEvidence, ...evidence }, draft })
  }

  placeOf(kind: string, row: Row, place: string | null = null): Place {
    const uri = this.links.uri(pathOf(resourceOf(kind), row))
    return { kind, id: row.id, place, name: nameOf(row), uri }
  }

  placeOfRule(state: Pick<ViewState, 'rows'>, rule: DeclaredRow<'ip_policy_rule'>): Place {
    return { ...this.placeOf(ruleKind, rule), name: nameOfSubject(state, rule) }
  }

  answer(asOf: string): Findings {
    const all = [...this.#kinds]
    return {
      as_of: asOf,
      kinds: all.map(([kind, { lookedAt, found, listed, unknown }]) => ({
        kind,
        looked_at: lookedAt,
        found,
        left_out: found - listed.length,
        unknown,
      })),
      findings: all.flatMap(([, { listed }]) => listed),
    }
  }
}

/** The first of these that the row has. */
function nameOf({ cidr, hostports, match, name, type, description }: Row): string | null {
  const [hostport] = (hostports ?? []) as readonly string[]
  const given = [cidr, hostport, match, name, description, type].find(
    (value) => typeof value === 'string' && value !== '',
  )
  return given === undefined ? null : String(given)
}
