/** The response to a replacement of all rules of an IP policy. */
import { objectOf, type Static, Type } from '../core/schema.js'

export const ruleCountsSchema = objectOf(
  {
    added: Type.Integer({ minimum: 0 }),
    updated: Type.Integer({ minimum: 0, description: 'Description or metadata changed; the id stays.' }),
    removed: Type.Integer({ minimum: 0 }),
    kept: Type.Integer({ minimum: 0, description: 'Unchanged.' }),
  },
  {
    title: 'RuleCounts',
    description: 'How many rules were changed in which way.',
    examples: [{ added: 1, updated: 0, removed: 3, kept: 1 }],
  },
)

export type RuleCounts = Readonly<Static<typeof ruleCountsSchema>>
