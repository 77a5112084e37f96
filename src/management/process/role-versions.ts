/**
 * Which versions of the roles run, and whether they understand each other. A process that starts asks all the others what
 * they read and write (`wire/role-formats.ts`). While one of them could not read what it would write, or the reverse, it
 * waits, reports why, and goes on by itself when that process has ended.
 */
import { rolesSubject, statusSubject } from '../../delivery/wire/names.js'
import {
  type Announcement,
  announcementIn,
  announcementOf,
  type Conflict,
  clauseOf,
  conflictOf,
  named,
  obstaclesOf,
  type RoleName,
  silentDeliverer,
} from '../../delivery/wire/role-formats.js'
import { sleep } from '../../ground/core/clock.js'
import { newId } from '../../ground/core/ids.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'

interface RoleVersionsOptions {
  readonly nats: Pick<Nats, 'answer' | 'countReplies' | 'gather'>
  readonly role: RoleName
  readonly occurrences: Pick<Occurrences, 'roleWaits' | 'roleWaitEnded' | 'rolesUnheard'>
}

/** A busy process answers later, and is then found by the next look of the other one. */
const answerWaitMs = 1_500
/** Deliverers answer this first: each that does in this time has said in time what it is. */
const deliverersWaitMs = 1_000
const lookEveryMs = 2_000
/** For a page that people wait for. */
const shownWaitMs = 300
/** More are counted only. */
const clausesMax = 3

export class RoleVersions {
  readonly #options: RoleVersionsOptions
  readonly #id = newId('process_')
  readonly #answering: { close(): Promise<unknown> }
  #state: Announcement['state'] = 'starts'
  #waitsFor: string | undefined

  /** From now on the others hear of this process. */
  constructor(options: RoleVersionsOptions) {
    this.#options = options
    this.#answering = options.nats.answer(rolesSubject, undefined, () => JSON.stringify(this.#own))
  }

  get #own(): Announcement {
    return announcementOf(this.#id, this.#options.role, this.#state, this.#waitsFor)
  }

  /** Resolves when no other process would misunderstand this one. `waitsFor` is called with what it waits for. */
  async whenUnderstood(waitsFor: (what: string) => void): Promise<void> {
    const { occurrences, role } = this.#options
    let reported: string | undefined
    for (;;) {
      const obstacles = obstaclesOf(this.#own, await this.#look())
      if (obstacles.length === 0) break
      const reason = reasonOf(this.#own, obstacles)
      this.#state = 'waits'
      this.#waitsFor = reason
      waitsFor(reason)
      if (reason !== reported) occurrences.roleWaits({ role, reason })
      reported = reason
      await sleep(lookEveryMs)
    }
    if (reported !== undefined) occurrences.roleWaitEnded({ role })
    this.works()
  }

  /** It has begun, whoever else runs. */
  works(): void {
    this.#state = 'works'
    this.#waitsFor = undefined
  }

  /** A sentence for each process that waits for others, and for each two that misunderstand each other. */
  async troubles(): Promise<string[]> {
    const heard = await this.#heardWithin(shownWaitMs)
    const all = [this.#own, ...heard.filter(({ process }) => process !== this.#id)]
    const waiting = all.flatMap((one) =>
      one.waitsFor === undefined ? [] : `${capitalized(named(one))} waits for ${one.waitsFor}.`,
    )
    const working = all.filter(({ state }) => state === 'works')
    const pairs = working.flatMap((one, at) =>
      working.slice(at + 1).flatMap((other) => conflictOf(one, other) ?? []),
    )
    const misread = pairs.map(
      (pair) => `${capitalized(clauseOf(pair))}: upgrade or stop ${named(pair.older)}.`,
    )
    return [...new Set([...waiting, ...misread])]
  }

  /** The others, and deliverers of versions that do not say what they are. */
  async #look(): Promise<Announcement[]> {
    const { nats, role, occurrences } = this.#options
    const [delivering, heard] = await Promise.all([
      role === 'pipeline' ? nats.countReplies(statusSubject, deliverersWaitMs) : 0,
      this.#heardWithin(answerWaitMs),
    ])
    const others = heard.filter(({ process }) => process !== this.#id)
    // It hears itself, unless it may not ask or answer.
    if (others.length === heard.length) occurrences.rolesUnheard({ role })
    const saying = others.filter(({ role: other }) => other === 'deliver').length
    const silent = Math.max(0, delivering - saying)
    return [...others, ...Array.from({ length: silent }, () => silentDeliverer)]
  }

  async #heardWithin(waitMs: number): Promise<Announcement[]> {
    const answers = (await this.#options.nats.gather(rolesSubject, '', waitMs)) ?? []
    return answers.flatMap((answer) => announcementIn(answer) ?? [])
  }

  close(): Promise<unknown> {
    return this.#answering.close()
  }
}

/** A clause for "it waits for …", with what to do. */
function reasonOf(own: Announcement, obstacles: readonly Conflict[]): string {
  const clauses = [...new Set(obstacles.map(clauseOf))]
  const shown = clauses.slice(0, clausesMax).join('; ')
  const more = clauses.length > clausesMax ? `; and ${clauses.length - clausesMax} more` : ''
  const { older, writer, reader } = obstacles[0]!
  const newer = older === writer ? reader : writer
  const remedy =
    older.process === own.process
      ? `Start Weir ${newer.version} here instead`
      : `Upgrade or stop each that is older (${named(older)}); this process goes on by itself then`
  return `processes of another version: ${shown}${more}. ${remedy}`
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
