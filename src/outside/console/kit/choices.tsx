/** Some choices of which one holds, as buttons in a row: a range of time, a tab. It is kept in the URL. */
import { parameter, setParameters } from '../data/location.js'

interface ChoicesProps {
  readonly label: string
  /** The URL's parameter. */
  readonly name: string
  /** The first is the default, which the URL leaves out. */
  readonly choices: readonly (readonly [value: string, text: string])[]
}

export function Choices({ label, name, choices }: ChoicesProps) {
  const chosen = choiceIn(name, choices)
  return (
    <fieldset class="choices" aria-label={label}>
      {choices.map(([value, text], index) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          onClick={() => setParameters({ [name]: index === 0 ? '' : value })}
        >
          {text}
        </button>
      ))}
    </fieldset>
  )
}

/** The choice that the URL has, or the default. */
export const choiceIn = (name: string, choices: ChoicesProps['choices']): string => {
  const given = parameter(name)
  return choices.some(([value]) => value === given) ? given : (choices[0]?.[0] ?? '')
}
