/**
 * Carries out a plan: by one batch that the API carries out as a whole or not at all, or else by several. Each step is valid
 * by itself then, and a run that was ended is finished by the next one, since what it did is no difference any more.
 *
 * Before it go addresses that Weir draws, because edges name them, authorities, because certificates are signed by them, and
 * lists and policies with so many entries or rules that no batch takes them. Keys are deleted in the end, since one of them
 * may be the key of this run.
 */
import { StartFault } from '../../ground/core/errors.js'
import type { Client } from '../../words/client/client.js'
import { subjectOfRule } from '../../words/resource/ip-policy.js'
import { operationsOf } from './account-state.js'
import { creationStep, movesNames, stepsOf, withoutParts } from './apply-steps.js'
import { BatchWriter, refused, type Step } from './batch-writer.js'
import { type Difference, type Plan, sentBody } from './difference.js'
import { addressToBe } from './drawn-addresses.js'
import type { Part } from './part-differences.js'
import { missingIn } from './placeholders.js'
import { keepToken, openTokens } from './tokens-file.js'

/** Rules of a policy that a batch writes one by one. */
const rulesOneByOneMax = 400
/** Entries of a list that are a part of a batch, as JSON. */
const entriesBytesMax = 128 * 1024

/** Kinds of which others need what the API draws for them. */
const neededBefore: readonly string[] = ['reservedAddr', 'sshCertificateAuthority']

interface ApplyOptions {
  /** Gets a line of JSON for each token that is made; it is shown once. */
  readonly tokens?: string | undefined
  readonly refusalOf: Plan['refusalOf']
  /** Called after each difference. */
  readonly done: (difference: Difference) => void
}

const isMade = ({ action }: Difference): boolean => action === 'create' || action === 'replace'
const isKey = ({ kind }: Difference): boolean => kind.name === 'apiKey'
const lastUseOf = ({ live }: Difference): number => Date.parse(String(live!.shown['last_used_at'])) || 0
const hasToken = ({ kind: { resource } }: Difference): boolean => 'token' in resource.fields

/** The version of the account's last change: asked before the account is read, so that later changes are noticed. */
export const versionOf = async (client: Client): Promise<number> =>
  (await client.batch({ requests: [] }, { validateOnly: true })).version

export class Application {
  readonly #client: Client
  readonly #options: ApplyOptions
  readonly #writer: BatchWriter
  /** Differences that were carried out before the rest. */
  readonly #written = new Set<Difference>()

  /** `version`: see `versionOf`. */
  constructor(client: Client, version: number, options: ApplyOptions) {
    this.#client = client
    this.#options = options
    this.#writer = new BatchWriter(client, version, {
      keep: ({ kind, name }, id, token) =>
        keepToken(options.tokens!, { section: kind.section, name, id, token }),
      done: options.done,
      refusalOf: options.refusalOf,
    })
  }

  /** Throws before anything is written if a secret or a place for tokens is missing. */
  async run(plan: Plan): Promise<void> {
    const { differences } = plan
    this.#checkAhead(differences)
    const { tokens } = this.#options
    if (tokens !== undefined && differences.some((each) => isMade(each) && hasToken(each))) openTokens(tokens)
    await this.#makeFirst(plan)
    await this.#writeLarge(plan)
    await this.#writeRest(plan)
    const keys = differences.filter(
      (each) => isKey(each) && (each.action === 'delete' || each.action === 'replace'),
    )
    for (const each of keys.toSorted((one, other) => lastUseOf(one) - lastUseOf(other))) {
      await operationsOf(this.#client, each.kind).delete(each.live!.id)
      this.#options.done(each)
    }
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

  /** What others need the values of: the address of a reservation, the key of an authority. */
  async #makeFirst(plan: Plan): Promise<void> {
    const made = plan.differences.filter((each) => isMade(each) && neededBefore.includes(each.kind.name))
    await this.#writer.write(made.map((each) => creationStep(each, false)))
    for (const each of made) {
      this.#written.add(each)
      if (each.kind.name !== 'reservedAddr') continue
      const { addr } = await this.#client.reservedAddr.get(this.#writer.idOf(each.id))
      this.#writer.learn(addressToBe(each.id), addr)
    }
  }

  /** With new lists, which rules of a large policy may refer to. */
  async #writeLarge({ differences }: Plan): Promise<void> {
    const large = differences.filter(isLarge)
    if (large.length === 0) return
    const lists = differences.filter(
      (each) => each.kind.name === 'ipList' && each.action === 'create' && !isLarge(each),
    )
    await this.#writer.write([...lists.map((each) => creationStep(each, true)), ...large.map(withoutParts)])
    for (const each of large) await this.#writeParts(each)
    for (const each of [...lists, ...large]) this.#written.add(each)
    this.#writer.know(await versionOf(this.#client))
  }

  async #writeParts(difference: Difference): Promise<void> {
    const { entries, rules } = difference.parts
    const id = this.#writer.idOf(difference.id)
    try {
      if (entries !== undefined) await this.#client.listEntries.replace(id, entries as never)
      if (rules !== undefined) await this.#replaceRules(id, rules)
    } catch (error) {
      throw refused(error, difference, this.#options.refusalOf)
    }
    this.#options.done(difference)
  }

  /** Policy tests may refer to new rules, so their ids are learned. */
  async #replaceRules(policyId: string, rules: readonly Part[]): Promise<void> {
    const bodies = rules.map(({ body }) => sentBody(this.#writer.withIds(body)))
    await this.#client.replaceRules(policyId, bodies as never)
    const ids = new Map<string, string>()
    if (rules.every(({ isNew }) => !isNew)) return
    for await (const { cidr, list, id } of this.#client.rules(policyId)) ids.set(cidr ?? String(list?.id), id)
    for (const [index, { id, isNew }] of rules.entries())
      if (isNew) this.#writer.learn(id, ids.get(subjectOfRule(bodies[index]!)) ?? id)
  }

  async #writeRest(plan: Plan): Promise<void> {
    const whole = stepsOf(plan, false, this.#written).main
    if (whole.length === 0) return
    if (!movesNames(plan.differences) && (await this.#writer.writeWhole(whole))) return
    const { early, main } = stepsOf(plan, true, this.#written)
    const all: readonly Step[] = [...early, ...main]
    // What would be refused in the end is refused before names and tests are given up.
    await this.#writer.check(all)
    await this.#writer.write(early)
    await this.#writer.write(main)
  }
}

function isLarge({ parts: { entries, rules = [], rulesRemoved = [] } }: Difference): boolean {
  const written =
    rules.filter(({ isNew, changed }) => isNew || changed.length > 0).length + rulesRemoved.length
  return (
    written > rulesOneByOneMax ||
    (entries !== undefined && Buffer.byteLength(JSON.stringify(entries)) > entriesBytesMax)
  )
}
