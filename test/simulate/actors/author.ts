/** Who manages the deployment, as a client of the API: what it makes at first, and writes that it repeats until answered. */
import { WeirError } from '../../../src/ground/core/errors.js'
import type { Caller } from '../../../src/management/access/caller.js'
import { createValues } from '../../../src/management/exchange/body/input.js'
import { requestKey, type WriteAnswer } from '../../../src/management/store/change/answers.js'
import { cli, createAccount } from '../../../src/management/write/accounts.js'
import { resourceOf } from '../../../src/words/resource/registry.js'
import type { ApiWork, Life } from '../deployment.js'
import type { Write } from '../plan.js'
import type { Stage } from '../stage.js'
import type { Written } from '../witness.js'
import { servedPort } from './publisher.js'

/** A client gives up waiting for one answer, and asks again. */
const answerWithinMs = 4_000
const againAfterMs = 250

const answered = ['ERR_VALIDATION', 'ERR_NOT_FOUND', 'ERR_CONFLICT']

export class Author {
  readonly #stage: Stage
  #under = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  get isDone(): boolean {
    return this.#under === 0
  }

  get #caller(): Caller {
    return { accountId: this.#stage.accountId, principal: cli, address: undefined }
  }

  /** Destinations, subscriptions, and an edge that denies some clients. */
  async prepare(): Promise<void> {
    const life = this.#stage.deployment.lives.get('api-1')!
    await this.#stage.inProcess(life.process, () => this.#prepare(life.work!))
  }

  async #prepare({ parts }: ApiWork): Promise<void> {
    const stage = this.#stage
    const account = await createAccount(parts.store, parts.writes, 'simulated')
    stage.accountId = account!.accountId
    for (const { name } of stage.services)
      stage.destinationIds.push(await this.#make(parts, 'event_destination', destination(name)))
    await this.#make(parts, 'event_subscription', {
      sources: [
        {
          type: 'tcp_connection_closed.v0',
          fields: ['conn.bytes_in', 'conn.bytes_out', 'ip_policy.decision'],
        },
        ...['created', 'updated', 'deleted'].map((verb) => ({ type: `tcp_edge_${verb}.v0` })),
        { type: 'events_dropped.v0' },
      ],
      destination_ids: stage.destinationIds,
    })
    const policy = await this.#make(parts, 'ip_policy', { description: 'some are denied' })
    for (const [cidr, action] of [
      ['203.0.113.0/25', 'allow'],
      ['203.0.113.128/25', 'deny'],
    ])
      await this.#make(parts, 'ip_policy_rule', { ip_policy_id: policy, cidr, action })
    await this.#make(parts, 'tcp_edge', {
      hostports: [`served.example:${servedPort}`],
      ip_restriction: { ip_policy_ids: [policy] },
    })
  }

  async #make({ store, writes }: ApiWork['parts'], kind: string, body: object): Promise<string> {
    const resource = resourceOf(kind)
    const values = createValues(resource, body as never)
    const plan = await writes.create(this.#caller, resource, values as never, Date.now())
    const { row } = await store.commit(this.#stage.accountId, cli, plan)
    return row.id
  }

  write(write: Write): void {
    const { witness } = this.#stage
    const written: Written = { write, outcome: 'under way' }
    witness.written.push(written)
    this.#under += 1
    void this.#insist(written).then(() => {
      this.#under -= 1
      witness.note(
        'client',
        `write ${write.number} (${write.verb} edge ${write.edge}): ${written.outcome} ${written.reason ?? ''}`,
      )
    })
  }

  /** Asks whichever API answers, always with the same key. */
  async #insist(written: Written): Promise<void> {
    const { apis } = this.#stage.plan.setup
    for (let tries = 0; ; tries++) {
      const life = this.#stage.deployment.lives.get(`api-${((written.write.api + tries) % apis) + 1}`)!
      if (life.isReady && life.process.isAlive) {
        const outcome = await this.#ask(life, written)
        if (outcome !== undefined) {
          Object.assign(written, outcome)
          return
        }
      }
      await this.#stage.pause(againAfterMs)
    }
  }

  /** Undefined if there was no answer, or one that says to come again. */
  async #ask(life: Life, written: Written): Promise<Partial<Written> | undefined> {
    const late = this.#stage.pause(answerWithinMs).then(() => undefined)
    try {
      return await Promise.race([
        late,
        this.#stage.inProcess(life.process, () => this.#send(life.work!, written)),
      ])
    } catch (error) {
      if (error instanceof WeirError && answered.includes(error.code))
        return { outcome: 'refused', reason: error.message }
      return undefined
    }
  }

  async #send({ parts: { store, writes } }: ApiWork, written: Written): Promise<Partial<Written>> {
    const { write } = written
    const { accountId } = this.#stage
    const key = requestKey(accountId, `write-${write.number}`, JSON.stringify(write))
    const first = await store.answered(key)
    const answer = first ?? (await store.commitOnce(accountId, cli, await this.#plan(writes, write), key))
    return { outcome: 'done', id: (answer.body as { id: string }).id }
  }

  async #plan(writes: ApiWork['parts']['writes'], write: Write) {
    const resource = resourceOf('tcp_edge')
    const body = { hostports: [nameOf(write.edge)], description: `+${write.number}` }
    const values = createValues(resource, body as never)
    const created = await writes.create(this.#caller, resource, values as never, Date.now())
    type Planning = Parameters<typeof created>
    return (...[state, version, at]: Planning) => {
      const answer = (id: string): WriteAnswer => ({ status: 200, body: { id } })
      if (write.verb === 'create') {
        const draft = created(state, version, at)
        return { ...draft, result: answer(draft.result.row.id) }
      }
      const edges = [...(state.rows.get('tcp_edge')?.values() ?? [])]
      const present = edges.find((row) => (row['hostports'] as string[])[0] === nameOf(write.edge))
      if (present === undefined) throw new WeirError('ERR_NOT_FOUND', 'There is no such edge.')
      const mark = writes.update(this.#caller, resource, present.id, (row) => ({
        description: `${String(row['description'])}+${write.number}`,
      }))
      const remove = writes.delete(this.#caller, resource, present.id)
      const draft = write.verb === 'mark' ? mark(state, version, at) : remove(state, version, at)
      return { ...draft, result: answer(present.id) }
    }
  }
}

/** Edges that writes are about serve no records. */
export const nameOf = (edge: number): string => `edge-${edge}.example:30000`

const destination = (name: string) => ({
  format: 'json',
  target: {
    kinesis: {
      stream_arn: `arn:aws:kinesis:eu-west-1:123456789012:stream/${name}`,
      auth: { role: { role_arn: 'arn:aws:iam::123456789012:role/weir' } },
    },
  },
})
