/** When traffic last went to names and addresses, and where certificates were in use, as far as the decision log knows. */
import { objectOf, oneOf, orNull, type Static, type TObject, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

const time = (description: string) => orNull(Type.String({ format: 'date-time' }), { description })

const entrySchema = objectOf(
  {
    id: Type.String({ description: 'The domain, address or certificate.' }),
    last_traffic_at: time('The last logged decision about traffic to it; null: the log has none.'),
  },
  { title: 'LastTraffic', description: 'When traffic went to a domain or an address last.' },
)

/** Members of every answer besides its entries. */
const knownSchema = {
  log: oneOf(
    ['all', 'blocked', 'off'],
    'The decisions that the log of this deployment has. blocked: allowed traffic is not known. off: nothing is known, and every time is null.',
  ),
  since: time(
    'The oldest decision of the account in the log: earlier traffic is not known. Null if there is none.',
  ),
  names_left_out: Type.Integer({
    minimum: 0,
    description: 'Domains with these certificates that were not looked for, because there are too many.',
  }),
}

const exampleTime = '2026-11-20T10:00:00.000Z'

export const lastTrafficExample = {
  last_traffic: [{ id: exampleId('rd_'), last_traffic_at: exampleTime }],
  log: 'all',
  since: '2026-11-17T10:00:00.000Z',
  names_left_out: 0,
}

/** `page`: the schema of a page with these entries. */
export const lastTrafficSchema = (page: TObject) =>
  objectOf(
    { ...page.properties, ...knownSchema },
    { title: 'LastTrafficList', description: 'A page, newest first.' },
  )

export const lastTrafficEntrySchema = entrySchema

type LastTrafficEntry = Static<typeof entrySchema>
export type LastTraffic = Static<TObject<typeof knownSchema>> & {
  readonly last_traffic: readonly LastTrafficEntry[]
  readonly next_page_uri: string | null
}
