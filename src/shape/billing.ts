/** Units that AWS bills for the events of a destination, and how many could be saved. */
import { objectOf, orNull, type Static, Type } from '../core/schema.js'
import type { Packing } from '../deliver/aws/packing.js'
import type { DestinationKind } from '../deliver/destination.js'
import type { Usage } from '../wire/delivery-attempts.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const unit = objectOf(
  {
    name: Type.String(),
    about: Type.String({ description: 'What one of them is.' }),
    count: count('Those of the accepted records.'),
    count_if_packed: orNull(Type.Integer({ minimum: 0 }), {
      description:
        'As many as there would have been with `packing` `ndjson`; null if it is on, or the kind of target has none.',
    }),
  },
  { title: 'BillingUnits' },
)

export const billingExample = {
  since: '2026-11-20T09:02:10.000Z',
  events: 90_000,
  records: 90_000,
  bytes: 46_080_000,
  units: [
    {
      name: 'put_payload_units',
      about: 'Each begun 25 KB of a record; billed for provisioned streams.',
      count: 90_000,
      count_if_packed: 1_800,
    },
  ],
  saving:
    'The 90000 events took 90000 put_payload_units. With the packing "ndjson" they would take 1800, 98 % less. A filter that keeps back a tenth of the events saves 9000.',
}

export const billingSchema = orNull(
  objectOf(
    {
      since: Type.String({
        format: 'date-time',
        description:
          'The beginning of the time that is counted: at most an hour ago, or a start of a deliverer.',
      }),
      events: count('Events that the service accepted, repeats included.'),
      records: count('Records that held them.'),
      bytes: count('Of the records, as the service counts them.'),
      units: Type.Array(unit),
      saving: orNull(Type.String(), { description: 'What a packing or a filter would save, for a person.' }),
    },
    { title: 'DeliveryBilling' },
  ),
  {
    description:
      'What AWS bills for the last hour; null if nothing is billed by records, or no deliverer answers.',
  },
)

type Billing = Static<typeof billingSchema>

/** `usages`: of each deliverer. */
export function billingOf(
  { billing: units, packing: packable }: Pick<DestinationKind, 'billing' | 'packing'>,
  packing: Packing,
  usages: readonly Usage[],
): Billing {
  if (units === undefined || usages.length === 0) return null
  const sum = (of: (usage: Usage) => number | undefined): number =>
    usages.reduce((all, usage) => all + (of(usage) ?? 0), 0)
  const mayPack = packable !== undefined && packing === 'none'
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

function savingOf(
  events: number,
  { name, count: all, count_if_packed: packed }: Static<typeof unit>,
): string | null {
  if (events === 0) return null
  const sentences = [`The ${events} events took ${all} ${name}.`]
  if (packed !== null && packed < all * (1 - worthwhile)) {
    const percent = Math.floor((1 - packed / all) * 100)
    sentences.push(`With the packing "ndjson" they would take ${packed}, ${percent} % less.`)
  }
  sentences.push(`A filter that keeps back a tenth of the events saves ${Math.round(all / 10)}.`)
  return sentences.join(' ')
}
