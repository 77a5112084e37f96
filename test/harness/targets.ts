/** The target of a destination as responses show it: every kind is a member, and null unless it is the target's. */

import { destinationKinds } from '../../src/delivery/deliver/kinds.js'
import type { Resource } from '../../src/words/client/kinds.js'

type Target = Resource<'eventDestination'>['target']

export const targetShown = (set: Partial<Target> & object): Target => ({
  ...(Object.fromEntries(destinationKinds.map(({ name }) => [name, null])) as unknown as Target),
  ...set,
})
