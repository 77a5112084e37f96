/** A subscription as it is written. */
import type { Client } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'

type Body = Parameters<Client['eventSubscription']['create']>[0]

export interface DraftSource {
  readonly type: string
  /** Undefined: the default fields. */
  readonly fields?: readonly string[] | undefined
  readonly filter: string
}

export interface Draft {
  readonly description: string
  readonly metadata: string
  readonly destinationIds: readonly string[]
  readonly sources: readonly DraftSource[]
  /** Only of a new one. */
  readonly startFrom: string
}

export const emptyDraft: Draft = {
  description: '',
  metadata: '',
  destinationIds: [],
  sources: [{ type: 'tcp_connection_closed.v0', filter: '' }],
  startFrom: '',
}

/** The subscription as it is now, as a body. */
export const draftOf = (subscription: Resource<'eventSubscription'>): Body => bodyOf(editableOf(subscription))

export const editableOf = ({
  description = '',
  metadata = '',
  destinations,
  sources,
}: Resource<'eventSubscription'>): Draft => ({
  description,
  metadata,
  destinationIds: destinations.map(({ id }) => id),
  sources: sources.map(({ type, fields, filter = '' }) => ({ type, fields, filter })),
  startFrom: '',
})

export const bodyOf = ({ description, metadata, destinationIds, sources, startFrom }: Draft): Body => ({
  description,
  metadata,
  destination_ids: [...destinationIds],
  sources: sources.map(({ type, fields, filter }) => ({
    type,
    ...(fields && { fields: [...fields] }),
    ...(filter.trim() !== '' && { filter }),
  })),
  ...(startFrom.trim() !== '' && { start_from: startFrom.trim() }),
})
