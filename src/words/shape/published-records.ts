/** The outcome of records that were published over the API. */
import { objectOf, type Static, Type } from '../../ground/core/schema.js'

/** Refused lines in an answer. */
export const refusalsShownMax = 100

const refusedLineSchema = objectOf(
  {
    line: Type.Integer({ minimum: 1, description: 'Its number in the body, blank lines included.' }),
    reason: Type.String({ description: 'A sentence that names the member, its value and what is allowed.' }),
  },
  { title: 'RefusedLine', description: 'A line that was not stored.' },
)

export const publishedRecordsSchema = objectOf(
  {
    stored: Type.Integer({ minimum: 0, description: 'Records that are stored, and will be processed.' }),
    refused_count: Type.Integer({ minimum: 0, description: 'Lines that were not stored.' }),
    refused: Type.Array(refusedLineSchema, {
      maxItems: refusalsShownMax,
      description: `The first ${refusalsShownMax} of them.`,
    }),
  },
  {
    title: 'PublishedRecords',
    description: 'What became of the lines.',
    examples: [
      {
        stored: 2,
        refused_count: 1,
        refused: [
          { line: 3, reason: '"conn.client_ip" is "203.0.113"; it must be an IPv4 or IPv6 address.' },
        ],
      },
    ],
  },
)

export type PublishedRecords = Readonly<Static<typeof publishedRecordsSchema>>
