/** Some of the account's IP policies or IP lists, as boxes to tick. */
import { useSignal } from '@preact/signals'
import type { Client } from '../../../client/client.js'
import { firstOf, useAnswer } from '../../data/asking/api.js'
import { nameOf } from '../../data/resources/resource-names.js'
import { Answered, Empty } from '../states.js'

interface ChoiceProps {
  readonly chosen: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

interface Named {
  readonly id: string
  readonly text: string
}

interface BoxesProps extends ChoiceProps {
  /** What is chosen: the label of all, and one of them. */
  readonly words: readonly [all: string, one: string]
  readonly none: string
  readonly load: (
    client: Client,
  ) => Promise<{ readonly entries: readonly Named[]; readonly hasMore: boolean }>
}

const listedMax = 200

async function policiesOf(client: Client) {
  const { entries, hasMore } = await firstOf(client.ipPolicy.list(), listedMax)
  return { entries: entries.map(({ id, description }) => ({ id, text: description || id })), hasMore }
}

async function listsOf(client: Client) {
  const { entries, hasMore } = await firstOf(client.ipList.list(), listedMax)
  return { entries: entries.map(({ id, name }) => ({ id, text: name })), hasMore }
}

export const PolicyChoice = (props: ChoiceProps) => (
  <Boxes
    {...props}
    words={['IP policies', 'an IP policy']}
    none="There is no IP policy yet. Make one on the page “IP policies” first."
    load={policiesOf}
  />
)

export const ListChoice = (props: ChoiceProps) => (
  <Boxes
    {...props}
    words={['IP lists', 'an IP list']}
    none="There is no IP list yet. Make one on the page “IP lists” first."
    load={listsOf}
  />
)

function Boxes({ chosen, onChange, words: [all, one], none, load }: BoxesProps) {
  const wanted = useSignal('')
  const answer = useAnswer([], load)
  const toggle = (id: string, isOn: boolean): void =>
    onChange(isOn ? [...chosen, id] : chosen.filter((each) => each !== id))
  return (
    <Answered answer={answer}>
      {({ entries: known, hasMore }) => {
        // One that is referred to is there, however old or deleted it is.
        const others = chosen
          .filter((id) => !known.some((each) => each.id === id))
          .map((id) => ({ id, text: nameOf(id).text }))
        const shown = [...others, ...known].filter(({ id, text }) =>
          `${text} ${id}`.toLowerCase().includes(wanted.value.toLowerCase()),
        )
        if (known.length === 0 && others.length === 0) return <Empty>{none}</Empty>
        return (
          <fieldset class="boxes" aria-label={all}>
            {known.length > 10 && (
              <input
                type="search"
                aria-label={`Find ${one}`}
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
