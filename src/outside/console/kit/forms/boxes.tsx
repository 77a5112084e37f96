/** Some of several entries, as boxes to tick; many can be searched. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useDescription } from './fields.js'

interface BoxEntry {
  readonly id: string
  readonly text: string
  /** More about it, next to it. */
  readonly about?: string
}

interface BoxesProps {
  /** The member of the body that it is for. */
  readonly name?: string
  readonly label: string
  readonly entries: readonly BoxEntry[]
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
  readonly fault?: string | undefined
  readonly children?: ComponentChildren
}

/** More can't be overlooked at a glance. */
const searchedFrom = 11

export function Boxes({ name, label, entries, chosen, onChange, fault, children }: BoxesProps) {
  const wanted = useSignal('')
  const { attributes, below } = useDescription({ name, fault })
  const { 'aria-invalid': isInvalid, ...described } = attributes
  const shown = entries.filter(({ id, text }) =>
    `${text} ${id}`.toLowerCase().includes(wanted.value.toLowerCase()),
  )
  return (
    <div class="field">
      <fieldset class="boxes" aria-label={label} {...described}>
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
              aria-invalid={isInvalid}
              onChange={(event) =>
                onChange(event.currentTarget.checked ? [...chosen, id] : chosen.filter((each) => each !== id))
              }
            />{' '}
            {text} {about !== undefined && <span class="quiet">{about}</span>}
          </label>
        ))}
        {children}
      </fieldset>
      {below}
    </div>
  )
}
