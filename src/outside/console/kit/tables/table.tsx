/**
 * A table: rows can be walked through by `j` and `k`, and opened by Enter or a click. Columns that are the same array draw a
 * row once. On a narrow screen the column that matters has the whole width, and the others stand below its value.
 */
import { signal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { useKeys } from '../keyboard.js'

/** The same bound as in `style.css`. */
const narrow = matchMedia('(max-width: 640px)')
const isNarrow = signal(narrow.matches)
narrow.addEventListener('change', ({ matches }) => {
  isNarrow.value = matches
})

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean
  /** The one that matters. A table without one has few and short columns, which fit on a narrow screen. */
  readonly isMain?: boolean
  /** Takes the room that is left, and cuts what is longer. */
  readonly isWide?: boolean
}

interface TableProps<Row extends object> {
  /** For those who can't see it: what the rows are. */
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  readonly onOpen?: (row: Row) => void
  /** The key of the row that is open now. */
  readonly opened?: string | undefined
  /** Shown in place of a table without rows. */
  readonly empty?: ComponentChildren
}

export function Table<Row extends object>(props: TableProps<Row>) {
  const { label, rows, columns, keyOf, onOpen, opened, empty } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const latest = useRef(props)
  latest.current = props
  const isFolded = isNarrow.value
  const arranged = useMemo(() => (isFolded ? foldedColumns(columns) : columns), [columns, isFolded])
  const rowNodes = useMemo(() => new RowNodes<Row>(arranged, latest), [arranged])
  const move = (step: number): void => {
    const all = body.current?.rows ?? []
    const at = [...all].indexOf(document.activeElement as HTMLTableRowElement)
    const row = all[Math.max(0, Math.min(all.length - 1, at + step))]
    row?.focus()
    row?.scrollIntoView({ block: 'nearest' })
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  return (
    <div class="scrolls">
      <table aria-label={label}>
        <thead>
          <tr>
            {arranged.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} data-opens={onOpen !== undefined}>
          {rows.map((row) => rowNodes.nodeOf(row, opened === keyOf(row)))}
        </tbody>
      </table>
    </div>
  )
}

/**
 * The rows as they were drawn. A row that is the same object is not drawn again: a table to which some rows are added many
 * times a second costs what is new.
 */
class RowNodes<Row extends object> {
  readonly #columns: readonly Column<Row>[]
  readonly #latest: { readonly current: TableProps<Row> }
  readonly #drawn = new WeakMap<Row, { readonly isOpened: boolean; readonly node: VNode }>()

  constructor(columns: readonly Column<Row>[], latest: { readonly current: TableProps<Row> }) {
    this.#columns = columns
    this.#latest = latest
  }

  nodeOf(row: Row, isOpened: boolean): VNode {
    const before = this.#drawn.get(row)
    if (before?.isOpened === isOpened) return before.node
    const node = this.#draw(row, isOpened)
    this.#drawn.set(row, { isOpened, node })
    return node
  }

  #draw(row: Row, isOpened: boolean): VNode {
    const open = (): void => this.#latest.current.onOpen?.(row)
    return (
      <tr
        key={this.#latest.current.keyOf(row)}
        tabIndex={0}
        class={isOpened ? 'opened' : undefined}
        onClick={(event) => {
          if (!isControl(event.target)) open()
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && event.target === event.currentTarget) open()
        }}
      >
        {this.#columns.map((column) => (
          <td key={column.title} class={classOf(column)}>
            <Cell column={column} row={row} />
          </td>
        ))}
      </tr>
    )
  }
}

/** A component of its own, so that a signal that a cell reads draws this cell alone. */
function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  return <>{column.cell(row)}</>
}

/** A link or a button in a row does its own. */
const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button, input, select, label') !== null

const classOf = ({ isNumber, isMain, isWide }: ColumnLook): string =>
  [isNumber && 'number', isMain && 'main', isWide && 'wide'].filter(Boolean).join(' ')

type ColumnLook = Pick<Column<never>, 'isNumber' | 'isMain' | 'isWide'>

/** The column that matters alone, with the others below its value. */
function foldedColumns<Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] {
  const main = columns.find(({ isMain }) => isMain)
  if (main === undefined) return columns
  const others = columns.filter((column) => column !== main)
  return [
    {
      title: main.title,
      isMain: true,
      cell: (row) => (
        <>
          <Cell column={main} row={row} />
          <div class="folded">
            {others.map((column) => (
              <span key={column.title} class="fold">
                {column.title !== '' && <span class="quiet">{column.title}</span>}{' '}
                <span class="value">
                  <Cell column={column} row={row} />
                </span>
              </span>
            ))}
          </div>
        </>
      ),
    },
  ]
}
