/** Sums up what AWS bills for the events of a destination, and says what could be saved. */
import type { Packing } from '../../../delivery/deliver/aws/packing.js'
import type { ListedKind } from '../../../delivery/deliver/kinds.js'
import type { Usage } from '../../../delivery/wire/delivery-attempts.js'
import type { Billing } from '../../../words/shape/billing.js'

type BilledUnit = NonNullable<Billing>['units'][number]

/** `usages`: of each deliverer. */
export function billingOf(
  { aws }: Pick<ListedKind, 'aws'>,
  packing: Packing,
  usages: readonly Usage[],
): Billing {
  const units = aws?.billing
  if (units === undefined || usages.length === 0) return null
  const sum = (of: (usage: Usage) => number | undefined): number =>
    usages.reduce((all, usage) => all + (of(usage) ?? 0), 0)
  const mayPack = aws?.packing !== undefined && packing === 'none'
  const counted = units.map(({ name, about }) => ({
    name,
    about,
    count: sum((usage) => usage.units[name]?.count),
    count_if_packed: mayPack ? sum((usage) => usage.units[name]?.packed) : null,
  }))
  const events = sum((usage) => usage.events)
  return {
    since: new Date(Math.min(...usages.map(({ sinceMs }) => sinceMs))).toISOString(),
    events,
    records: sum((usage) => usage.records),
    bytes: sum((usage) => usage.bytes),
    units: counted,
    saving: savingOf(events, counted[0]!),
  }
}

/** Below this share, packing is not worth a change of the consumer. */
const worthwhile = 0.05

function savingOf(events: number, { name, count: all, count_if_packed: packed }: BilledUnit): string | null {
  if (events === 0) return null
  const sentences = [`The ${events} events took ${all} ${name}.`]
  if (packed !== null && packed < all * (1 - worthwhile)) {
    const percent = Math.floor((1 - packed / all) * 100)
    sentences.push(`With the packing "ndjson" they would take ${packed}, ${percent} % less.`)
  }
  sentences.push(`A filter that keeps back a tenth of the events saves ${Math.round(all / 10)}.`)
  return sentences.join(' ')
}
