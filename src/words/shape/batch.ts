/** A batch: writes that are committed together or not at all. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { exampleId } from '../resource/kind/examples.js'

/** Parts of a batch. As many as fit are committed: how many these are depends on their size. */
export const batchPartsMax = 1_000
const pathCharsMax = 1_000
const nameCharsMax = 255

const partSchema = objectOf(
  {
    method: oneOf(['POST', 'PATCH', 'PUT', 'DELETE'], 'As in the request alone.'),
    path: Type.String({
      minLength: 1,
      maxLength: pathCharsMax,
      description: 'The path of the request, without a query.',
    }),
    body: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'The body, if it has one.' }),
    ),
    as: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: nameCharsMax,
        description:
          'Stands for the id of the resource that the request creates, in the paths and bodies of those after it: every text, and every segment of a path, that is equal to it is replaced.',
      }),
    ),
  },
  { title: 'BatchPart', description: 'A write, as the API takes it alone.' },
)

export const batchSchema = Type.Object(
  {
    requests: Type.Array(partSchema, { maxItems: batchPartsMax }),
    expected_version: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'The version of the last change of the account that the client knows: an earlier batch has answered it, also one without requests. If there is a later one, this batch is refused with 409.',
      }),
    ),
  },
  {
    title: 'Batch',
    additionalProperties: false,
    description: `At most ${batchPartsMax} requests. They are carried out in their order.`,
    examples: [
      {
        requests: [
          { method: 'POST', path: '/ip_policies', body: { description: 'the office' }, as: '#office' },
          {
            method: 'POST',
            path: '/ip_policy_rules',
            body: { ip_policy_id: '#office', cidr: '203.0.113.0/24', action: 'allow' },
          },
        ],
      },
    ],
  },
)

export type BatchRequest = Static<typeof batchSchema>
export type BatchPart = Static<typeof partSchema>

const resultSchema = objectOf(
  {
    status: Type.Integer({ description: 'The status of its answer, had it been sent alone.' }),
    id: orNull(Type.String(), { description: 'The resource that it wrote; null if its answer names none.' }),
    token: Type.Optional(
      orNull(Type.String(), { description: 'Of a new key: it is shown once, in the first answer.' }),
    ),
  },
  { title: 'BatchResult' },
)

export const batchResultsSchema = objectOf(
  {
    results: Type.Array(resultSchema, { description: 'One for each request, in their order.' }),
    version: Type.Integer({ description: 'The version of the last change of the account by now.' }),
  },
  {
    title: 'BatchResults',
    description: 'What the requests of a batch did.',
    examples: [
      {
        results: [
          { status: 201, id: exampleId('ipp_') },
          { status: 201, id: exampleId('ipr_') },
        ],
        version: 18,
      },
    ],
  },
)

export type BatchResults = Static<typeof batchResultsSchema>
