/** Entries of a list as a table, with more of them on demand, and a drawer for the one that the path names. */
import { type ComponentChildren, Fragment } from 'preact'
import { Button } from '../button.js'
import { type Column, Table } from './table.js'

interface OpenedTableProps<Entry extends { readonly id: string }> {
  /** For those who can't see it: what the rows are. */
  readonly label: string
  readonly entries: readonly Entry[]
  readonly columns: readonly Column<Entry>[]
  readonly opened: string | undefined
  readonly onOpen: (id: string) => void
  /** Shown in place of a table without rows. */
  readonly empty: ComponentChildren
  /** Shown below the table. */
  readonly note?: ComponentChildren
  /** Undefined: these are all. */
  readonly more: (() => unknown) | undefined
  readonly drawer: (entry: Entry) => ComponentChildren
}

export function OpenedTable<Entry extends { readonly id: string }>(props: OpenedTableProps<Entry>) {
  const { label, entries, columns, opened, onOpen, empty, note, more, drawer } = props
  const entry = entries.find(({ id }) => id === opened)
  return (
    <>
      <Table
        {...{ label, columns, opened, empty }}
        rows={entries}
        keyOf={({ id }) => id}
        onOpen={({ id }) => onOpen(id)}
      />
      {note}
      {more !== undefined && <Button onClick={more}>Show more</Button>}
      {entry !== undefined && <Fragment key={entry.id}>{drawer(entry)}</Fragment>}
    </>
  )
}
