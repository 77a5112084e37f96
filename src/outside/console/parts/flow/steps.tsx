/** The frame of a flow that creates something: where one is, and what there is to choose from. */
import { startEditing } from '../../data/access/session.js'
import { go, hrefTo, type Parameters } from '../../data/location.js'
import { Mark } from '../../kit/mark.js'

interface StepsProps {
  readonly names: readonly string[]
  /** The index of the present one. */
  readonly at: number
}

export const Steps = ({ names, at }: StepsProps) => (
  <ol class="steps" aria-label="Steps">
    {names.map((name, index) => (
      <li
        key={name}
        class={index < at ? 'done' : ''}
        {...(index === at && { 'aria-current': 'step' as const })}
      >
        <span class="step-mark" aria-hidden="true">
          {index < at ? '✓' : index + 1}
        </span>
        {name}
      </li>
    ))}
  </ol>
)

interface TileEntry {
  readonly id: string
  readonly name: string
  readonly purpose: string
  /** The end of the sentence “You need …”; empty: nothing is needed. */
  readonly needs: string
  readonly mark: string
}

interface TilesProps {
  readonly label: string
  readonly entries: readonly TileEntry[]
  readonly to: readonly string[]
  readonly with: (id: string) => Parameters
}

/** Who chooses one wants to create something: changes are switched on by it. */
export const Tiles = ({ label, entries, to, with: parametersOf }: TilesProps) => (
  <ul class="tiles" aria-label={label}>
    {entries.map(({ id, name, purpose, needs, mark }) => {
      const href = hrefTo(to, parametersOf(id))
      return (
        <li key={id}>
          <a
            class="tile"
            href={href}
            onClick={(event) => {
              if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
                return
              event.preventDefault()
              startEditing()
              go(href)
            }}
          >
            <Mark path={mark} />
            <strong>{name}</strong>
            <span>{purpose}</span>
            {needs !== '' && <span class="quiet">You need {needs}.</span>}
          </a>
        </li>
      )
    })}
  </ul>
)
