/**
 * Carries out a plan. Each step is valid by itself, and a run that was ended is finished by the next one, since what it did
 * is no difference any more:
 *
 * 1. Names and tests that others may need are given up: edges and domains that go, hostports that go to another edge, and
 *    policy tests that change.
 * 2. Kind by kind, resources are changed and made; each may refer to those before it.
 * 3. What is left over is deleted, in reverse; keys are last.
 */
import { eachOf } from '../../ground/core/concurrency.js'
import { StartFault } from '../../ground/core/errors.js'
import { hash128 } from '../../ground/core/ids.js'
import type { JsonObject } from '../../ground/core/json-object.js'
import type { Client } from '../../words/client/client.js'
import { subjectOfRule } from '../../words/resource/ip-policy.js'
import type { AnyResource, Fields } from '../../words/resource/kind/define.js'
import { moduleOf, type Operations, operationsOf } from './account-state.js'
import { changesBody, type Difference, isRemoved, type Plan, sentBody } from './difference.js'
import { addressToBe } from './drawn-addresses.js'
import { comparable, mapTexts } from './given.js'
import { hostportsGivenUp } from './given-up-hostports.js'
import { type Body, managedKinds, route as routeKind } from './managed-kinds.js'
import type { Part } from './part-differences.js'
import { missingIn, whyMissing } from './placeholders.js'
import { replaceSecrets } from './secret-members.js'
import { keepToken, openTokens } from './tokens-file.js'

/** Requests at a time: the API commits those of one account that wait together. */
const atOnce = 128

interface ApplyOptions {
  /** Gets a line of JSON for each token that is made; it is shown once. */
  readonly tokens?: string | undefined
  /** Called after each step. */
  readonly done: (difference: Difference) => void
}

const isClaimed = ({ claims, claimsAreDrawn }: AnyResource): boolean =>
  claims !== undefined && !claimsAreDrawn
const isTest = ({ kind }: Difference): boolean => kind.name === 'policyTest'
const isMade = ({ action }: Difference): boolean => action === 'create' || action === 'replace'
const isKey = ({ kind }: Difference): boolean => kind.name === 'apiKey'
const lastUseOf = ({ live }: Difference): number => Date.parse(String(live!.shown['last_used_at'])) || 0
const hasToken = ({ kind: { resource } }: Difference): boolean => 'token' in resource.fields

export class Application {
  readonly #client: Client
  readonly #options: ApplyOptions
  /** By the provisional ones. */
  readonly #ids = new Map<string, string>()

  /** Ids of all that was there before. */
  #present: ReadonlySet<string> = new Set()
  /** The version of the last deletion: see `#requestOf`. */
  #epoch = 0

  constructor(client: Client, options: ApplyOptions) {
    this.#client = client
    this.#options = options
  }

  /** Throws before anything is written if a secret or a place for tokens is missing. */
  async run(plan: Plan): Promise<void> {
    const { differences } = plan
    this.#checkAhead(differences)
    this.#present = plan.present
    const tokens = this.#options.tokens
    if (tokens !== undefined && differences.some((each) => isMade(each) && hasToken(each))) openTokens(tokens)
    const [early, late] = [differences.filter(isEarly), differences.filter((each) => !isEarly(each))]
    await this.#deleteAll(early)
    await this.#giveUpHostports(differences)
    for await (const { version } of this.#client.changes({ filter: "verb == 'delete'", limit: 1 })) {
      this.#epoch = version
      break
    }
    for (const kind of managedKinds) {
      const ofKind = differences.filter((each) => each.kind === kind && each.action !== 'delete')
      const isUpdate = (each: Difference): boolean => each.action === 'update' && !isTest(each)
      await this.#each(ofKind.filter(isUpdate), (each) => this.#update(each))
      await this.#each(
        ofKind.filter((each) => !isUpdate(each)),
        (each) => this.#create(each),
      )
    }
    const leftOver = late.filter(({ action }) => action === 'delete' || action === 'replace')
    const inReverse = leftOver.toSorted((one, other) => orderOf(other) - orderOf(one))
    await this.#deleteAll(inReverse.filter((each) => !isKey(each)))
    for (const { kind, id, body } of plan.secrets) await operationsOf(this.#client, kind).update(id, body)
    // One of them may be the key of this run, which the API does not delete: all else is done by then.
    await this.#deleteAll(inReverse.filter(isKey).toSorted((one, other) => lastUseOf(one) - lastUseOf(other)))
  }

  #checkAhead(differences: readonly Difference[]): void {
    const made = differences.filter(isMade)
    for (const { kind, name, body } of made)
      for (const { why } of missingIn(body, name))
        throw new StartFault(`${kind.section} ${name} can't be made: ${why}.`)
    const tokened = made.find(hasToken)
    if (tokened !== undefined && this.#options.tokens === undefined)
      throw new StartFault(
        `${tokened.kind.section} ${tokened.name} gets a token, which is shown once: say with --tokens FILE where to keep it.`,
      )
  }

  async #deleteAll(differences: readonly Difference[]): Promise<void> {
    for (const each of differences) {
      await operationsOf(this.#client, each.kind).delete(each.live!.id)
      if (each.action === 'delete') this.#options.done(each)
    }
  }

  /** A hostport belongs to one edge: what another edge is to get is given up before. */
  async #giveUpHostports(differences: readonly Difference[]): Promise<void> {
    for (const { kind, id, hostports } of hostportsGivenUp(differences))
      await operationsOf(this.#client, kind).update(id, { hostports })
  }

  #each(differences: readonly Difference[], step: (each: Difference) => Promise<void>): Promise<void> {
    return eachOf(differences, atOnce, async (each) => {
      await step(each)
      this.#options.done(each)
    })
  }

  async #create(difference: Difference): Promise<void> {
    const { kind, id, name } = difference
    const body = sentBody(this.#withIds(difference.body))
    const answer = await this.#made(difference, body)
    this.#ids.set(id, String(answer['id']))
    if (kind.name === 'reservedAddr') this.#ids.set(addressToBe(id), String(answer['addr']))
    const { token } = answer
    const { tokens } = this.#options
    if (typeof token === 'string' && tokens !== undefined)
      keepToken(tokens, { section: kind.section, name, id: String(answer['id']), token })
    await this.#writeParts(difference, String(answer['id']))
  }

  /**
   * The answer to an earlier request names a resource that this run has read already, and that its entry does not describe
   * any more, such as one that was renamed by hand: then another one is asked for. A replacement that an earlier run began
   * is continued.
   */
  async #made(difference: Difference, body: JsonObject): Promise<JsonObject> {
    const operations = operationsOf(this.#client, difference.kind)
    const earlier: string[] = []
    for (;;) {
      const answer = await operations.create(body, { idempotencyKey: this.#requestOf(difference, earlier) })
      const id = String(answer['id'])
      if (difference.action !== 'create' || !this.#present.has(id) || earlier.includes(id)) return answer
      earlier.push(id)
    }
  }

  /**
   * Names the request that makes something. A run that was killed may have a request under way that is carried out after the
   * next run has read the account: it is the same request then. Not after a deletion: what was made is to be made again.
   */
  #requestOf({ kind, name, body }: Difference, earlier: readonly string[]): string {
    const said = comparable(kind.resource.fields, this.#withIds(body))
    return `apply_${hash128(JSON.stringify([this.#epoch, kind.section, name, said, ...earlier]))}`
  }

  async #update(difference: Difference): Promise<void> {
    const { kind, id, fields } = difference
    const changed = fields.map(({ name }) => name)
    await this.#change(operationsOf(this.#client, kind), kind.resource, id, difference.body, changed)
    await this.#writeParts(difference, id)
  }

  async #change(
    operations: Operations,
    { fields }: AnyResource,
    id: string,
    body: Body,
    changed: readonly string[],
  ): Promise<void> {
    const values = changesBody(fields, this.#withIds(body), changed)
    if (Object.keys(values).length > 0) await operations.update(id, withoutMissing(fields, values))
    for (const name of changed) if (isRemoved(fields, body, name)) await moduleOf(operations, name).delete(id)
  }

  async #writeParts({ parts }: Difference, id: string): Promise<void> {
    const { rules, entries, routes = [], routesRemoved = [] } = parts
    if (rules !== undefined) await this.#replaceRules(id, rules)
    if (entries !== undefined) await this.#client.listEntries.replace(id, entries as never)
    const ofEdge = this.#client.httpsEdgeRoute.under(id)
    for (const routeId of routesRemoved) await ofEdge.delete(routeId)
    for (const route of routes) {
      if (!route.isNew)
        await this.#change(ofEdge as unknown as Operations, routeKind, route.id, route.body, route.changed)
      else this.#ids.set(route.id, (await ofEdge.create(sentBody(this.#withIds(route.body)) as never)).id)
    }
  }

  /** Policy tests may refer to new rules, so their ids are learned. */
  async #replaceRules(policyId: string, rules: readonly Part[]): Promise<void> {
    const bodies = rules.map(({ body }) => sentBody(this.#withIds(body)))
    await this.#client.replaceRules(policyId, bodies as never)
    const ids = new Map<string, string>()
    if (rules.every(({ isNew }) => !isNew)) return
    for await (const { cidr, list, id } of this.#client.rules(policyId)) ids.set(cidr ?? String(list?.id), id)
    for (const [index, { id, isNew }] of rules.entries())
      if (isNew) this.#ids.set(id, ids.get(subjectOfRule(bodies[index]!)) ?? id)
  }

  /** A copy with the ids of what was made. */
  #withIds<T>(value: T): T {
    return mapTexts(value, (text) => this.#ids.get(text) ?? text)
  }
}

const orderOf = ({ kind }: Difference): number => managedKinds.indexOf(kind)

/** What has to go first. */
const isEarly = (difference: Difference): boolean => {
  const { action, kind } = difference
  if (isTest(difference)) return action !== 'create'
  return isClaimed(kind.resource) && (action === 'delete' || action === 'replace')
}

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
