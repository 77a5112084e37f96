/** Rows of an account, as requests name them: by id, or all of a kind. */
import { notFound, shown, unavailable } from '../../ground/core/errors.js'
import { isId } from '../../ground/core/ids.js'
import type { AnyResource, Row } from '../../words/resource/kind/define.js'
import type { View } from '../../words/view/view.js'
import type { ViewState } from '../../words/view/view-state.js'

/** The configuration that answers are read from. */
export interface Readers {
  readonly store: { readonly view: Pick<View, 'isUsable' | 'state'> }
}

/** The state that reads are answered from. */
export function readable({ store }: Readers): ViewState {
  if (!store.view.isUsable) throw unavailable('The configuration is not complete yet.')
  return store.view.state
}

/** All rows of a kind that belong to an account or a parent resource, newest first. */
export function* rowsOf(state: ViewState, ownerId: string, kind: string): Generator<Row> {
  for (const id of state.ids(ownerId, kind).below()) {
    const row = state.rows.get(kind)?.get(id)
    if (row !== undefined) yield row
  }
}

/** Throws for an id in a path that can't be of this kind, as for an unknown one. */
export function checkPathId(resource: AnyResource, id: string): void {
  if (!isId(resource.idPrefix, id)) throw unknownResource(resource, id)
}

export const unknownResource = (resource: AnyResource, id: string) =>
  notFound(`There is no ${resource.title} ${shown(id)}.`)

/** The account's row with this id. Another account's id is unknown. */
export function rowOf(state: ViewState, accountId: string, resource: AnyResource, id: string): Row {
  // An id of another form is unknown, too: no row has one.
  const row = state.rows.get(resource.kind)?.get(id)
  if (row === undefined || row.account_id !== accountId) throw unknownResource(resource, id)
  return row
}

/** The path of a resource, with its parent's id filled in. */
export function pathOf(resource: AnyResource, row: Row): string {
  const { parent } = resource
  const path =
    parent === undefined
      ? resource.path
      : resource.path.replace(`{${parent.field}}`, String(row[parent.field]))
  return `${path}/${row.id}`
}
