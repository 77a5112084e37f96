/**
 * Answers what the API asks deliverers about their destinations. An unknown destination is `null`, so that the API
 * knows that a deliverer runs.
 */
import type { Nats } from '../../ground/nats/nats.js'
import {
  attemptsSubject,
  heldPacksSubject,
  probeSubject,
  statesSubject,
  statusesSubject,
  statusSubject,
} from '../wire/names.js'
import type { Deliverer } from './deliverer.js'

export function answerQuestions(
  nats: Pick<Nats, 'answer'>,
  deliverer: Pick<Deliverer, 'statusOf' | 'attemptsOf' | 'states' | 'probe' | 'held'>,
): { close(): Promise<unknown> } {
  const answers: Readonly<Record<string, (asked: string) => unknown>> = {
    [statusSubject]: (id) => deliverer.statusOf(id),
    [attemptsSubject]: (id) => deliverer.attemptsOf(id),
    [probeSubject]: (id) => deliverer.probe(id),
    [heldPacksSubject]: (ids) => deliverer.held(JSON.parse(ids) as string[]),
    [statusesSubject]: (ids) =>
      Object.fromEntries((JSON.parse(ids) as string[]).map((id) => [id, deliverer.statusOf(id) ?? null])),
    [statesSubject]: (ids) => deliverer.states(new Set(JSON.parse(ids) as string[])),
  }
  const open = Object.entries(answers).map(([subject, of]) =>
    nats.answer(subject, undefined, (data) => JSON.stringify(of(Buffer.from(data).toString()) ?? null)),
  )
  return { close: () => Promise.all(open.map((each) => each.close())) }
}
