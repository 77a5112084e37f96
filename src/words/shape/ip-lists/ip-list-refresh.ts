/** The outcome of a fetch of an IP list that someone asked for. */
import { objectOf, oneOf, orNull, type Static } from '../../../ground/core/schema.js'
import { feedErrorSchema } from '../../resource/fields/ip-list-source.js'
import { ipList } from '../../resource/ip-list.js'
import { anyResource } from '../../resource/kind/define.js'
import { resourceSchema } from '../../resource/shown-schema.js'

const refreshOutcomes = ['changed', 'unchanged', 'failed'] as const

export const refreshSchema = objectOf(
  {
    outcome: oneOf(
      refreshOutcomes,
      'changed: the list has other entries now. unchanged: the source has the same ones. failed: the entries stay as they were, and `error` says why.',
    ),
    error: orNull(feedErrorSchema),
    ip_list: resourceSchema(anyResource(ipList)),
  },
  { title: 'IpListRefresh', description: 'What was fetched, and the list as it is now.' },
)

export type IpListRefresh = Pick<Static<typeof refreshSchema>, 'outcome' | 'error'>
