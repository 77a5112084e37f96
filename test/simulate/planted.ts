/**
 * Faults that the simulation must find, so that it is known not to be blind: each changes a few lines of a source in the way of
 * a mistake that someone could make.
 */
export interface Planted {
  readonly name: string
  /** Below `src`. */
  readonly file: string
  readonly lines: string
  readonly instead: string
  /** Of a world that found it: it is tried first. */
  readonly seed: number
}

export const plantedFaults: readonly Planted[] = [
  {
    name: 'a message is acknowledged before its packs are stored',
    file: 'judging/pipeline/intake-message.ts',
    lines: '|| !this.isRouted || this.packsOpen > 0) return',
    instead: '|| !this.isRouted) return',
    seed: 1,
  },
  {
    name: 'message ids are forgotten',
    file: 'ground/nats/messages.ts',
    lines: 'msgID: msgId',
    instead: '',
    seed: 1,
  },
  {
    name: 'an entry is replaced whatever its revision is',
    file: 'ground/nats/bucket.ts',
    lines: 'this.#kv.put(key, value, { previousSeq: revision })',
    instead: 'this.#kv.put(key, value, revision === 0 ? { previousSeq: 0 } : {})',
    seed: 26,
  },
  {
    name: 'a request that was accepted in part counts as accepted',
    file: 'delivery/deliver/lane/lane.ts',
    lines: `    countDelivered(acceptedOf(batch, answer))
    if (answer.outcome === 'accepted') return this.#accepted(true)`,
    instead: `    countDelivered(batch)
    if (answer.outcome === 'accepted' || batch.length > 0) return this.#accepted(true)`,
    seed: 3,
  },
  {
    name: 'a request without an answer counts as accepted',
    file: 'delivery/deliver/lane/lane.ts',
    lines: `    else if (outcome.outcome === 'failed') await`,
    instead: `    else if (outcome.outcome === 'failed' && outcome.fault.class === 'transient') countDelivered(batch)
    else if (outcome.outcome === 'failed') await`,
    seed: 3,
  },
  {
    name: 'a change is done before its audit events are stored',
    file: 'management/store/carrier.ts',
    lines: `    traced('audit', steps.audit, () => audits.publish(accountId, version, changes)),`,
    instead: `    void traced('audit', steps.audit, () => audits.publish(accountId, version, changes)).catch(() => {}),`,
    seed: 101,
  },
  {
    name: 'an event that is refused counts as accepted',
    file: 'delivery/deliver/lane/lane.ts',
    lines:
      '    await Promise.all(rejected.map(({ index, fault }) => this.#deadLetter(batch[index]!, fault)))',
    instead: '    countDelivered(rejected.map(({ index }) => batch[index]!))',
    seed: 3,
  },
  {
    name: 'a configuration is used before it is complete',
    file: 'words/view/view.ts',
    lines: '    if (completeness.holds) this',
    instead: '    if (!this.#isUsable || completeness.holds) this',
    seed: 1,
  },
  {
    name: 'a repeated request is done again',
    file: 'management/store/change/answers.ts',
    lines: '    return stored && answerTo({ key, request }, stored)',
    instead: '    return stored && key === request ? answerTo({ key, request }, stored) : undefined',
    seed: 109,
  },
  {
    name: 'a bad record is left out',
    file: 'judging/pipeline/dead-records.ts',
    lines: '      await nats.publish(deadRecordsSubject, data, { msgId, headers, signal: gaveUp })',
    instead: '      void [nats, deadRecordsSubject, data, msgId, headers, gaveUp]',
    seed: 2,
  },
  {
    name: 'a message that is entered twice counts twice',
    file: 'delivery/books/input-run.ts',
    lines: '    return this.#settled.add(range)',
    instead: '    this.#settled.add(range)\n    return range[1] - range[0] + 1',
    seed: 14,
  },
  {
    name: 'names are not claimed',
    file: 'management/store/claims/claims.ts',
    lines: '    if (claims.length === 0) return true\n    const attributes',
    instead: '    if (claims.length >= 0) return true\n    const attributes',
    seed: 4,
  },
]
