/** Some of the account's IP policies, as boxes to tick. */
import { useSignal } from '@preact/signals'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { Answered, Empty } from '../states.js'

interface PolicyChoiceProps {
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

const listedMax = 200

export function PolicyChoice({ chosen, onChange }: PolicyChoiceProps) {
  const wanted = useSignal('')
  const policies = useAnswer([], (client) => firstOf(client.ipPolicy.list(), listedMax))
  const toggle = (id: string, isOn: boolean): void =>
    onChange(isOn ? [...chosen, id] : chosen.filter((each) => each !== id))
  return (
    <Answered answer={policies}>
      {({ entries, hasMore }) => {
        const known = entries.map(({ id, description }) => ({ id, text: description || id }))
        // One that is referred to is there, however old or deleted it is.
        const others = chosen
          .filter((id) => !known.some((each) => each.id === id))
          .map((id) => ({ id, text: nameOf(id).text }))
        const shown = [...others, ...known].filter(({ id, text }) =>
          `${text} ${id}`.toLowerCase().includes(wanted.value.toLowerCase()),
        )
        if (known.length === 0 && others.length === 0)
          return <Empty>There is no IP policy yet. Make one on the page “IP policies” first.</Empty>
        return (
          <fieldset class="boxes" aria-label="IP policies">
            {known.length > 10 && (
              <input
                type="search"
                aria-label="Find an IP policy"
                placeholder="find"
                value={wanted.value}
                onInput={(event) => {
                  wanted.value = event.currentTarget.value
                }}
              />
            )}
            {shown.map(({ id, text }) => (
              <label key={id} title={id}>
                <input
                  type="checkbox"
                  checked={chosen.includes(id)}
                  onChange={(event) => toggle(id, event.currentTarget.checked)}
                />{' '}
                {text}
              </label>
            ))}
            {hasMore && <p class="quiet">Only the newest {listedMax} are listed.</p>}
          </fieldset>
        )
      }}
    </Answered>
  )
}
