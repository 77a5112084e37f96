/**
 * Start here: plans of creates, updates and deletes for the store, made against the state that they will be applied to.
 * A plan may run several times, so random or slow values (ids, tokens, keys) are made before it.
 */
import { Turns } from '../../ground/core/concurrency.js'
import { EntryFaults } from '../../ground/core/entry-faults.js'
import { conflict, notFound } from '../../ground/core/errors.js'
import { type AuditVerb, auditEvent } from '../../words/event/audit.js'
import { apiKey } from '../../words/resource/api-key.js'
import type { AnyResource, DeriveTools, Lookups, Row } from '../../words/resource/kind/define.js'
import { policyKind } from '../../words/view/keys.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from '../access/caller.js'
import { checkNewKey } from '../access/key-rights.js'
import { lockoutGuard } from '../access/lockout-guard.js'
import type { Presenter } from '../exchange/present.js'
import { asInResource, type NameInBody, referencesIn } from '../exchange/references.js'
import { rowOf } from '../exchange/rows.js'
import type { AuditEvent, Put, Removal } from '../store/change/change.js'
import { claimsOf, countRules, type Draft, type Plan, releaseOf, unchanged } from '../store/change/plan.js'
import type { Store } from '../store/store.js'
import { eventPrincipal } from './bulk-audits.js'
import { type DeriveParts, deriveTools, prepareTools } from './derive-tools.js'
import { familyOf, newClaims, redraws, refuseWhileNamed } from './row-relations.js'
import { newRow, notRestored, same, type Values } from './row-values.js'
import { stateLookups } from './state-lookups.js'

/** Key pairs generated at once: an RSA key keeps a core busy for seconds, and file writes share its thread pool. */
const keyPairsAtOnceMax = 2
const keyPairsWaitingMax = 32

interface WriteTools extends DeriveParts {
  readonly presenter: Presenter
  readonly store: Pick<Store, 'settled' | 'sealedValue'>
  readonly sourceProblems: Lookups['sourceProblems']
}

/** The result of a write. */
export interface WriteResult {
  readonly resource: AnyResource
  readonly row: Row
  /** Fields that only the first answer shows, such as a new key's token. */
  readonly once: Record<string, unknown>
}

interface Restoration {
  readonly nameInBody?: NameInBody
  /** Resources below its path. */
  readonly below?: readonly { readonly resource: AnyResource; readonly row: Row }[]
  /** The resource whose path it is below, if that is restored with it. */
  readonly parent?: Row
}

export class Writes {
  readonly #tools: WriteTools
  readonly #turns = new Turns(keyPairsAtOnceMax, keyPairsWaitingMax)

  constructor(tools: WriteTools) {
    this.#tools = tools
  }

  /**
   * Ids, secrets and slow values are made now; references are checked in the plan. `complete` adds what depends on the
   * state.
   */
  async create(
    caller: Caller,
    resource: AnyResource,
    values: Values,
    requestedAt: number,
    complete: (row: Row, state: ViewState) => Row = (row) => row,
  ): Promise<Plan<WriteResult>> {
    const once: Record<string, unknown> = {}
    const tools = deriveTools(this.#tools, once)
    const draft = newRow(caller, resource, values, requestedAt)
    const prepared = await this.#prepare(caller, resource, values, draft, tools)
    let derived = derivedOf(resource, prepared, undefined, tools)
    const drawn = redraws(resource, () => {
      derived = derivedOf(resource, prepared, undefined, tools)
    })
    return (state, version, at) => {
      this.#checkReferences(resource, values, state, caller)
      const row = complete({ ...derived, version }, state)
      resource.check?.(row as never, undefined, this.#lookups(state, caller))
      if (resource.kind === apiKey.kind) checkNewKey(caller, row, state)
      const { puts, audits } = this.#change(caller, resource, 'created', row, state, at)
      return {
        puts,
        removals: [],
        audits,
        claims: newClaims(resource, row, [], drawn),
        ...lockoutGuard(caller),
        result: { resource, row, once },
      }
    }
  }

  /**
   * Applies the values that `change` returns for the present row; `show` renders it like GET. An equal row changes nothing.
   */
  update(
    caller: Caller,
    resource: AnyResource,
    id: string,
    change: (present: Row, show: () => Values) => Values,
    nameInBody: NameInBody = asInResource,
  ): Plan<WriteResult> {
    return (state, version, at) => {
      const present = rowOf(state, caller.accountId, resource, id)
      const values = change(present, () => this.#shown(resource, present, state))
      this.#checkReferences(resource, values, state, caller, { nameInBody, present })
      const tools = deriveTools(this.#tools, {})
      const row: Row = { ...derivedOf(resource, { ...present, ...values }, present, tools), version }
      if (same(resource, present, row)) return unchanged({ resource, row: present, once: {} })
      resource.check?.(row as never, present as never, this.#lookups(state, caller, nameInBody))
      return this.#replaced(caller, resource, present, row, state, at)
    }
  }

  /**
   * Puts a row of the past back: over the present one or, if that was deleted, under its old id. Its derived values are
   * those of then, so they fit its other ones. What was deleted with it comes back with it (`below`).
   */
  restore(
    caller: Caller,
    resource: AnyResource,
    past: Row,
    { nameInBody = asInResource, below = [], parent }: Restoration = {},
  ): Plan<WriteResult> {
    return (state, version, at) => {
      const found = state.rows.get(resource.kind)?.get(past.id)
      const present = found?.account_id === caller.accountId ? found : undefined
      if (present === undefined) refuseRevoked(resource, past.id)
      this.#checkReferences(resource, past, state, caller, {
        nameInBody,
        ...(present && { present }),
        ...(parent && { parent }),
      })
      const row: Row = { ...present, ...past, ...notRestored(resource, present), version }
      if (present !== undefined && same(resource, present, row))
        return unchanged({ resource, row: present, once: {} })
      resource.check?.(row as never, present as never, this.#lookups(state, caller))
      const restored = this.#replaced(caller, resource, present, row, state, at)
      if (present !== undefined) return restored
      const others = below.map((each) => {
        const plan = this.restore(caller, each.resource, each.row, { parent: row })
        return plan(state, version, at)
      })
      return {
        ...restored,
        puts: [restored, ...others].flatMap(({ puts }) => puts),
        audits: [restored, ...others].flatMap(({ audits }) => audits),
      }
    }
  }

  /** The draft that stores a row in place of another, if there is one. */
  #replaced(
    caller: Caller,
    resource: AnyResource,
    present: Row | undefined,
    row: Row,
    state: ViewState,
    at: number,
  ): Draft<WriteResult> {
    const verb = present === undefined ? 'created' : 'updated'
    const { puts, audits } = this.#change(caller, resource, verb, row, state, at)
    const before = present === undefined ? [] : claimsOf(resource.kind, present)
    const after = claimsOf(resource.kind, row)
    const releases = before.filter((text) => !after.includes(text)).map((text) => releaseOf(row.id, text))
    const result = { resource, row, once: {} }
    const claims = newClaims(resource, row, before)
    return { puts, removals: [], audits, claims, releases, ...lockoutGuard(caller), result }
  }

  delete(caller: Caller, resource: AnyResource, id: string): Plan<undefined> {
    return (state, version, at) => {
      const row = rowOf(state, caller.accountId, resource, id)
      if (row.id === caller.principal.credentialId) {
        throw conflict('An API key may not delete itself: use another key.')
      }
      if (resource.keptWhileReferenced) refuseWhileNamed(resource, row, state)
      resource.checkDeletion?.(row as never, this.#lookups(state, caller))
      const removals: Removal[] = [...familyOf(resource, row, state), { kind: resource.kind, row }]
      const emptied = resource.kind === policyKind && countRules(state, id) > 0 ? [id] : []
      return {
        puts: [],
        removals,
        emptiedPolicies: emptied,
        audits: this.#audits(caller, resource, 'deleted', row, state, version, at),
        releases: claimsOf(resource.kind, row).map((text) => releaseOf(id, text)),
        ...lockoutGuard(caller),
        result: undefined,
      }
    }
  }

  /** Adds values that are slow to make, after checking that all references exist. */
  async #prepare(
    caller: Caller,
    resource: AnyResource,
    values: Values,
    draft: Row,
    tools: DeriveTools,
  ): Promise<Row> {
    if (resource.prepare === undefined) return draft
    const { store } = this.#tools
    this.#checkReferences(resource, values, await store.settled(caller.accountId), caller)
    return resource.prepare(draft as never, prepareTools(tools, this.#tools, store, this.#turns))
  }

  /** The changes that store a row. */
  #change(
    caller: Caller,
    resource: AnyResource,
    verb: 'created' | 'updated',
    row: Row,
    state: ViewState,
    at: number,
  ): { puts: Put[]; audits: AuditEvent[] } {
    const puts = [{ kind: resource.kind, row, isNew: verb === 'created' }]
    return { puts, audits: this.#audits(caller, resource, verb, row, state, row.version, at) }
  }

  #audits(
    caller: Caller,
    resource: AnyResource,
    verb: AuditVerb,
    row: Row,
    state: ViewState,
    version: number,
    at: number,
  ): AuditEvent[] {
    if (resource.audit === undefined) return []
    const { presenter } = this.#tools
    return [
      auditEvent({
        object: resource.audit,
        verb,
        accountId: caller.accountId,
        resourceId: row.id,
        version,
        at,
        principal: eventPrincipal(caller, state, presenter.links),
        shown: presenter.showAlone(resource, row),
      }),
    ]
  }

  /** The domain of addresses that Weir assigns. */
  get tcpDomain(): string {
    return this.#tools.tcpAddresses.domain
  }

  #lookups(state: ViewState, { accountId }: Caller, nameInBody = asInResource): Lookups {
    const { sourceProblems } = this.#tools
    return { ...stateLookups(state, accountId), nameInBody, sourceProblems, tcpDomain: this.tcpDomain }
  }

  #shown(resource: AnyResource, row: Row, state: ViewState): Values {
    return JSON.parse(this.#tools.presenter.showJson(resource, row, state))
  }

  /** References must exist, except those that the same field of `present` already has. */
  #checkReferences(
    resource: AnyResource,
    values: Values,
    state: ViewState,
    caller: Caller,
    {
      nameInBody = asInResource,
      present,
      parent,
    }: { nameInBody?: NameInBody; present?: Row; parent?: Row } = {},
  ): void {
    const faults = new EntryFaults()
    for (const { path, field, kind, id } of referencesIn(resource.fields, values)) {
      const row = state.rows.get(kind)?.get(id)
      if (row?.account_id === caller.accountId || id === parent?.id) continue
      if (present !== undefined && isNamed(resource, present, field, id)) continue
      const place = nameInBody(path)
      faults.add(place, notFound(`"${place}" names ${JSON.stringify(id)}, which does not exist.`))
    }
    faults.throwIfAny()
  }
}

const isNamed = ({ fields }: AnyResource, row: Row, field: string, id: string): boolean =>
  [...referencesIn(fields, row)].some((named) => named.field === field && named.id === id)

const derivedOf = (resource: AnyResource, draft: Row, previous: Row | undefined, tools: DeriveTools): Row =>
  resource.derive?.(draft as never, previous as never, tools) ?? draft

function refuseRevoked({ title, deletionRevokes }: AnyResource, id: string): void {
  if (!deletionRevokes) return
  throw conflict(
    `The ${title} ${id} was deleted, which revoked its token for good: create a new one instead of restoring it.`,
  )
}
