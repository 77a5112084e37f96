import { documented, oneOf, ruled, Type } from '../core/schema.js'
import { bearerToken, withToken } from './bearer-token.js'
import { defineResource, type Row } from './define.js'
import { described, repeatedEntry, writable } from './fields.js'

/** What a key may be limited to. `all` is everything that the API offers, now and later. */
const keyRights = ['all', 'decide'] as const

export type KeyRight = (typeof keyRights)[number]

const rights = ruled(
  Type.Array(oneOf(keyRights, 'decide: ask for decisions, and nothing else. all: everything.'), {
    maxItems: keyRights.length,
    description: 'What the key may be used for. Without it, everything.',
    ...documented({ uniqueItems: true }),
  }),
  repeatedEntry,
)

type Rights = readonly KeyRight[] | null

export const apiKey = defineResource({
  kind: 'api_key',
  idPrefix: 'ak_',
  path: '/api_keys',
  listName: 'keys',
  title: 'API key',
  about: 'A token that authenticates requests to this API. It is shown once, when the key is created.',
  example: { description: 'deployment' },
  audit: 'api_key',
  deletionRevokes: true,
  fields: {
    ...described,
    rights: {
      ...writable(rights, { atCreation: true }),
      // One form for a key without limits, which is also that of keys older than this field.
      complete: (given: KeyRight[]) => (given.includes('all') ? null : given),
    },
    ...bearerToken,
  },
  derive: withToken,
})

/** The rights of a key; null if it may do everything. */
export const rightsOf = (key: Row): Rights => {
  const given = key['rights'] as Rights | undefined
  return given === undefined || given?.length === 0 ? null : given
}

/** May a key with these rights do what needs this one? */
export const includesRight = (rights: Rights | undefined, right: KeyRight): boolean =>
  rights === null || rights === undefined || rights.includes(right)
