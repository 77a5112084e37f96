/** The destinations that exist. */
import { eventDestination } from '../../words/resource/event-destination.js'
import type { View } from '../../words/view/view.js'

export const isDestinationIn =
  (view: Pick<View, 'state'>) =>
  (id: string): boolean =>
    view.state.rows.get(eventDestination.kind)?.has(id) === true
