/** The preview of a source: its entries, before there is an IP list of it. */
import { listFormats } from '../../../ground/core/address/list-formats.js'
import { objectOf, oneOf, orNull, type Static, Type } from '../../../ground/core/schema.js'
import {
  feedErrorCodes,
  type PreviewedSource,
  previewedSourceSchema,
} from '../../resource/fields/ip-list-source.js'

export const listPreviewRequestSchema = objectOf(
  { source: previewedSourceSchema },
  {
    title: 'IpListPreviewRequest',
    examples: [{ source: { url: 'https://lists.example.com/drop.txt' } }],
  },
)

export interface ListPreviewRequest {
  readonly source: PreviewedSource
}

export const listPreviewSchema = objectOf(
  {
    format: orNull(oneOf(listFormats), {
      description: 'As it was named, else as the text looks; null if nothing was fetched.',
    }),
    bytes: Type.Integer({ description: 'Of what was fetched, decompressed.' }),
    entries: Type.Integer({ description: 'That were read.' }),
    first: Type.Array(
      objectOf({ cidr: Type.String(), comment: orNull(Type.String()) }, { title: 'PreviewedEntry' }),
      { description: 'The first entries.' },
    ),
    refused: Type.Array(Type.String(), {
      description:
        'What can’t be read, a sentence each, the first ones. A list with such lines is not taken.',
    }),
    error: orNull(objectOf({ code: oneOf(feedErrorCodes), message: Type.String() }), {
      description: 'Why nothing was fetched.',
    }),
  },
  {
    title: 'IpListPreview',
    description: 'What a source has.',
    examples: [
      {
        format: 'lines',
        bytes: 2_412,
        entries: 97,
        first: [{ cidr: '203.0.113.0/24', comment: 'SBL1' }],
        refused: ['Line 7: "nonsense" is not an IP address.'],
        error: null,
      },
    ],
  },
)

export type IpListPreview = Static<typeof listPreviewSchema>
