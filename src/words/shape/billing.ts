/** Units that AWS bills for the events of a destination, and how many could be saved. */
import { objectOf, orNull, type Static, Type } from '../../ground/core/schema.js'

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

export type Billing = Static<typeof billingSchema>
