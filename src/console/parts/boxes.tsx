/** Some of several entries, as boxes to tick; many can be searched. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

interface BoxEntry {
  readonly id: string
  readonly text: string
  /** More about it, next to it. */
  readonly about?: string
}

interface BoxesProps {
  readonly label: string
  readonly entries: readonly BoxEntry[]
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
  readonly fault?: string | undefined
  readonly children?: ComponentChildren
}

/** More can't be overlooked at a glance. */
const searchedFrom = 11

export function Boxes({ label, entries, chosen, onChange, fault, children }: BoxesProps) {
  const wanted = useSignal('')
  const shown = entries.filter(({ id, text }) =>
    `${text} ${id}`.toLowerCase().includes(wanted.value.toLowerCase()),
  )
  return (
    <fieldset class="boxes" aria-label={label}>
      {entries.length >= searchedFrom && (
        <input
          type="search"
          aria-label={`Find: ${label}`}
          placeholder="find"
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value
          }}
        />
      )}
      {shown.map(({ id, text, about }) => (
        <label key={id} title={id}>
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            onChange={(event) =>
              onChange(event.currentTarget.checked ? [...chosen, id] : chosen.filter((each) => each !== id))
            }
          />{' '}
          {text} {about !== undefined && <span class="quiet">{about}</span>}
        </label>
      ))}
      {children}
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  )
}
