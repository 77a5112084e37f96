/** A table: rows can be walked through by `j` and `k`, and opened by Enter or a click. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { useKeys } from './keyboard.js'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean
  /** Left out on narrow screens. */
  readonly isExtra?: boolean
  /** Takes the room that is left, and cuts what is longer. */
  readonly isWide?: boolean
}

interface TableProps<Row> {
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

export function Table<Row>({ label, rows, columns, keyOf, onOpen, opened, empty }: TableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const at = useSignal(-1)
  const move = (step: number): void => {
    const index = Math.max(0, Math.min(rows.length - 1, at.value + step))
    at.value = index
    const row = body.current?.rows[index]
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
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, index) => {
            const key = keyOf(row)
            const open = (): void => {
              at.value = index
              onOpen?.(row)
            }
            return (
              <tr
                key={key}
                tabIndex={onOpen === undefined && index > 0 ? -1 : 0}
                class={opened === key ? 'opened' : undefined}
                data-opens={onOpen !== undefined}
                onClick={(event) => {
                  if (!isControl(event.target)) open()
                }}
                onKeyDown={(event) => {
                  if (event.key === 'Enter' && event.target === event.currentTarget) open()
                }}
                onFocus={() => {
                  at.value = index
                }}
              >
                {columns.map((column) => (
                  <td key={column.title} class={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

/** A link or a button in a row does its own. */
const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button, input, select, label') !== null

const classOf = ({
  isNumber,
  isExtra,
  isWide,
}: Pick<Column<never>, 'isNumber' | 'isExtra' | 'isWide'>): string =>
  [isNumber && 'number', isExtra && 'extra', isWide && 'wide'].filter(Boolean).join(' ')
