/** Begins a challenger of a draft: it is evaluated alongside the live configuration, and decides nothing. */
import { useSignal } from '@preact/signals'
import type { NewResource } from '../../../../words/client/kinds.js'
import { act } from '../../data/asking/api.js'
import { isoSeconds, now } from '../../data/clock.js'
import { go, hrefTo } from '../../data/location.js'
import { ChoiceField, TextField } from '../../kit/forms/fields.js'
import { EditButton } from '../edit-button.js'

const hourMs = 60 * 60_000

const lengths = [
  ['1', '1 hour'],
  ['24', '1 day'],
  ['72', '3 days'],
  ['168', '7 days'],
] as const

interface ShadowProps {
  readonly draft: () => NewResource<'challenger'>['draft']
  /** Something is wrong in the draft. */
  readonly isBlocked: boolean
}

export function Shadow({ draft, isBlocked }: ShadowProps) {
  const hours = useSignal('24')
  const description = useSignal('')
  const begin = async (): Promise<void> => {
    await act('The draft runs alongside the live configuration.', async (client) => {
      const { id } = await client.challenger.create({
        description: description.value,
        draft: draft(),
        ends_at: isoSeconds(now() + Number(hours.value) * hourMs),
      })
      go(hrefTo(['challengers', id]))
    })
  }
  return (
    <section
      class="panel stack"
      aria-labelledby="shadow"
      onKeyDown={(event) => {
        // Within a form, Enter would save the draft.
        if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault()
      }}
    >
      <h2 id="shadow">Shadow it on live traffic</h2>
      <p class="quiet">
        The draft judges each record that arrives, too, and decides nothing. What it would decide differently
        is on the page “Challengers”.
      </p>
      <TextField
        label="Description"
        value={description.value}
        placeholder="what it is to achieve"
        onChange={(text) => {
          description.value = text
        }}
      />
      <ChoiceField
        label="For"
        value={hours.value}
        choices={lengths}
        onChange={(chosen) => {
          hours.value = chosen
        }}
      />
      <div class="row">
        <EditButton onClick={begin} isDisabled={isBlocked}>
          Shadow this on live traffic
        </EditButton>
      </div>
    </section>
  )
}
