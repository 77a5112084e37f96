/** Forms of IP lists: name, category, and the source that they are fetched from. */
import { useSignal } from '@preact/signals'
import { durationMs } from '../../../../ground/core/text/units.js'
import type { Resource } from '../../../../words/client/kinds.js'
import { formatChoices } from '../../data/resources/list-files.js'
import { ChoiceField, LinesField, TextField } from '../../kit/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import {
  bodyOf,
  isComplete,
  shareIn,
  type TextValue,
  textsOf,
  timesIn,
  type Values,
  valuesOf,
} from './list-texts.js'

/** Where entries come from. */
const origins = [
  ['hand', 'set by hand'],
  ['url', 'fetched from a URL'],
  ['file', "read from a file in the account's directory of the server"],
] as const

interface ChangeListProps {
  readonly list: Resource<'ipList'>
  readonly onClose: (isDone: boolean) => void
}

export function ChangeList({ list, onClose }: ChangeListProps) {
  const texts = useSignal(textsOf(list))
  const values = valuesOf(
    () => texts.value,
    (next) => {
      texts.value = next
    },
  )
  return (
    <FormDrawer
      title="Edit the IP list"
      submit="Save"
      done="The IP list was saved."
      isDisabled={!isComplete(values)}
      work={(client) =>
        client.ipList.update(list.id, {
          ...bodyOf(values),
          // A category that is emptied here goes away at the API.
          category: values.category.value.trim(),
          ...(values.origin.value === 'hand' && { source: null }),
        })
      }
      onClose={onClose}
    >
      <ListFields values={values} />
    </FormDrawer>
  )
}

const setterOf = (value: TextValue) => (text: string) => {
  value.value = text
}

export const NameFields = ({ values: { name, category, description } }: { readonly values: Values }) => (
  <>
    <TextField
      name="name"
      label="Name"
      value={name.value}
      onChange={setterOf(name)}
      placeholder="tor-exits"
      hint="What rules and expressions call it: lower-case letters, digits, “-”, “_” and dots."
    />
    <TextField
      name="category"
      label="What its addresses are"
      isOptional
      value={category.value}
      onChange={setterOf(category)}
      placeholder="proxy.tor"
      hint="A category, the general word first: proxy.tor. A question for “proxy” includes it."
    />
    <TextField
      name="description"
      label="Description"
      isOptional
      value={description.value}
      onChange={setterOf(description)}
      hint="For you and your colleagues: exits of the Tor network."
    />
  </>
)

const ListFields = ({ values }: { readonly values: Values }) => (
  <>
    <NameFields values={values} />
    <ChoiceField
      name="source"
      label="Its entries are"
      value={values.origin.value}
      choices={origins}
      onChange={setterOf(values.origin)}
    />
    {values.origin.value !== 'hand' && (
      <>
        <PlaceFields values={values} choices={formatChoices.slice(1)} />
        <GuardFields values={values} />
      </>
    )}
  </>
)

interface PlaceFieldsProps {
  readonly values: Values
  readonly choices: typeof formatChoices
}

/** Where entries come from, and how they are written. */
export const PlaceFields = ({
  values: { origin, address, format, headers, secretHeaders },
  choices,
}: PlaceFieldsProps) => (
  <>
    <TextField
      name={`source.${origin.value}`}
      label={origin.value === 'url' ? 'Address (URL)' : 'File'}
      value={address.value}
      onChange={setterOf(address)}
      placeholder={origin.value === 'url' ? 'https://lists.example.com/drop.txt' : 'feeds/office.txt'}
      {...(origin.value === 'file' && {
        hint: 'Below the directory that the operator gave to this account.',
      })}
    />
    <ChoiceField
      name="source.format"
      label="How it is written"
      value={format.value}
      choices={choices}
      onChange={setterOf(format)}
    />
    {origin.value === 'url' && (
      <details open={headers.value + secretHeaders.value !== ''}>
        <summary>The server wants a key, or other headers</summary>
        <div class="stack">
          <LinesField
            name="source.secret_headers"
            label="Secret headers"
            isOptional
            rows={2}
            value={secretHeaders.value}
            onChange={setterOf(secretHeaders)}
            hint="One on each line: Authorization: Bearer …. They are stored encrypted; “(stored)” stands for a value that stays."
          />
          <LinesField
            name="source.headers"
            label="Other headers"
            isOptional
            rows={2}
            value={headers.value}
            onChange={setterOf(headers)}
            hint="One on each line: Accept: text/plain. They are shown."
          />
        </div>
      </details>
    )}
  </>
)

/** How often it is fetched, and what is not believed. */
export const GuardFields = ({ values: { refresh, shrinkGuard, growGuard } }: { readonly values: Values }) => (
  <>
    <TextField
      name="source.refresh_seconds"
      label="Fetched every"
      value={refresh.value}
      onChange={setterOf(refresh)}
      placeholder="1h"
      fault={
        durationMs(refresh.value.trim()) === undefined ? 'A length of time such as 15m, 1h or 1d.' : undefined
      }
    />
    <TextField
      name="source.shrink_guard"
      label="Not taken if it keeps less than"
      value={shrinkGuard.value}
      onChange={setterOf(shrinkGuard)}
      placeholder="50 %"
      hint="Of the present entries. Nor is a fetch without entries, unless this is 0 %."
      fault={shareIn(shrinkGuard.value) === undefined ? 'A percentage from 0 to 100.' : undefined}
    />
    <TextField
      name="source.grow_guard"
      label="Not taken if it covers more than so many times as many addresses"
      value={growGuard.value}
      onChange={setterOf(growGuard)}
      placeholder="10"
      hint="As the present entries do. 0 takes any number."
      fault={timesIn(growGuard.value) === undefined ? '0, or at least 1.' : undefined}
    />
  </>
)
