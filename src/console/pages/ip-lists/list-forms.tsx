/** Forms of IP lists: name, category, and the source that they are fetched from. */
import { type Signal, useSignal } from '@preact/signals'
import type { NewResource, Resource } from '../../../client/kinds.js'
import { listFormats } from '../../../core/address/list-formats.js'
import { durationMs, durationText } from '../../../core/units.js'
import { linesOfPairs, pairsInLines } from '../../data/texts/pairs.js'
import { ChoiceField, LinesField, TextField } from '../../parts/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { sourceOf } from './list-source.js'

type List = Resource<'ipList'>

/** Where entries come from. */
const origins = [
  ['hand', 'set by hand'],
  ['url', 'fetched from a URL'],
  ['file', "read from a file in the account's directory of the server"],
] as const

type Values = ReturnType<typeof useList>

export function useList(list?: List) {
  const source = list === undefined ? null : sourceOf(list)
  return {
    name: useSignal(list?.name ?? ''),
    category: useSignal(list?.category ?? ''),
    description: useSignal(list?.description ?? ''),
    origin: useSignal<string>(source === null ? 'hand' : source.url === null ? 'file' : 'url'),
    address: useSignal(source?.url ?? source?.file ?? ''),
    format: useSignal<string>(source?.format ?? 'lines'),
    refresh: useSignal(source === null ? '1h' : durationText(source.refresh_seconds * 1000)),
    shrinkGuard: useSignal(percentOf(source?.shrink_guard ?? 0.5)),
    growGuard: useSignal(String(source?.grow_guard ?? 10)),
    headers: useSignal(linesOfPairs(source?.headers ?? {})),
    secretHeaders: useSignal(linesOfPairs(source?.secret_headers ?? {})),
  }
}

export function bodyOf({ name, category, description, ...values }: Values) {
  return {
    name: name.value.trim(),
    description: description.value,
    ...(category.value.trim() !== '' && { category: category.value.trim() }),
    ...(values.origin.value !== 'hand' && { source: sourceBody(values) }),
  }
}

const percentOf = (share: number): string => `${Number((share * 100).toFixed(6))} %`

/** Undefined if the text is no percentage. */
function shareIn(text: string): number | undefined {
  const [, percent] = /^\s*(\d{1,3}(?:\.\d{1,6})?)\s*%?\s*$/.exec(text) ?? []
  const share = Number(percent) / 100
  return share <= 1 ? share : undefined
}

/** Undefined if the text is no number of times; 0 switches the guard off. */
function timesIn(text: string): number | undefined {
  const times = /^\s*\d{1,9}(?:\.\d{1,6})?\s*$/.test(text) ? Number(text) : Number.NaN
  return times === 0 || times >= 1 ? times : undefined
}

const pairsOrNull = (lines: string) => (lines.trim() === '' ? null : pairsInLines(lines))

type SourceValues = Omit<Values, 'name' | 'category' | 'description'>

/** The API keeps secrets that are sent back as it shows them. */
function sourceBody({
  origin,
  address,
  format,
  refresh,
  shrinkGuard,
  growGuard,
  headers,
  secretHeaders,
}: SourceValues): NonNullable<NewResource<'ipList'>['source']> {
  const source = {
    [origin.value]: address.value.trim(),
    format: format.value,
    refresh_seconds: Math.round((durationMs(refresh.value.trim()) ?? 0) / 1000),
    shrink_guard: shareIn(shrinkGuard.value),
    grow_guard: timesIn(growGuard.value),
    ...(origin.value === 'url' && {
      headers: pairsOrNull(headers.value),
      secret_headers: pairsOrNull(secretHeaders.value),
    }),
  }
  return source as NonNullable<NewResource<'ipList'>['source']>
}

export const isComplete = ({ name, origin, ...source }: Values): boolean =>
  name.value.trim() !== '' &&
  (origin.value === 'hand' ||
    (source.address.value.trim() !== '' &&
      durationMs(source.refresh.value.trim()) !== undefined &&
      shareIn(source.shrinkGuard.value) !== undefined &&
      timesIn(source.growGuard.value) !== undefined))

interface ChangeListProps {
  readonly list: List
  readonly onClose: (isDone: boolean) => void
}

export function ChangeList({ list, onClose }: ChangeListProps) {
  const values = useList(list)
  return (
    <FormDrawer
      title="Edit the IP list"
      submit="Save"
      done="The IP list was saved."
      isDisabled={!isComplete(values)}
      work={(client) =>
        client.ipList.update(list.id, {
          ...bodyOf(values),
          // What is emptied here goes away there.
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

const setterOf = (value: Signal<string>) => (text: string) => {
  value.value = text
}

export const ListFields = ({ values }: { readonly values: Values }) => (
  <>
    <TextField
      label="Name"
      value={values.name.value}
      onChange={setterOf(values.name)}
      placeholder="tor-exits"
      hint="What rules and expressions call it: lower-case letters, digits, “-”, “_” and dots."
    />
    <TextField
      label="Category"
      value={values.category.value}
      onChange={setterOf(values.category)}
      placeholder="proxy.tor"
      hint="What its addresses are, the general word first. A question for “proxy” includes “proxy.tor”."
    />
    <TextField label="Description" value={values.description.value} onChange={setterOf(values.description)} />
    <ChoiceField
      label="Its entries are"
      value={values.origin.value}
      choices={origins}
      onChange={setterOf(values.origin)}
    />
    {values.origin.value !== 'hand' && <SourceFields values={values} />}
  </>
)

const SourceFields = ({
  values: { origin, address, format, refresh, shrinkGuard, growGuard, headers, secretHeaders },
}: {
  readonly values: Values
}) => (
  <>
    <TextField
      label={origin.value === 'url' ? 'URL' : 'File'}
      value={address.value}
      onChange={setterOf(address)}
      placeholder={origin.value === 'url' ? 'https://lists.example.com/drop.txt' : 'feeds/office.txt'}
    />
    {origin.value === 'url' && (
      <>
        <LinesField
          label="Headers (optional)"
          rows={2}
          value={headers.value}
          onChange={setterOf(headers)}
          hint="Sent with each request, one in a line, such as “name: value”. They are shown."
        />
        <LinesField
          label="Secret headers (optional)"
          rows={2}
          value={secretHeaders.value}
          onChange={setterOf(secretHeaders)}
          hint="Such as the key for a list that is not public. Stored encrypted; “(stored)” stands for a value that stays."
        />
      </>
    )}
    <ChoiceField
      label="Format"
      value={format.value}
      choices={listFormats.map((each) => [each, each] as const)}
      onChange={setterOf(format)}
    />
    <TextField
      label="Fetched every"
      value={refresh.value}
      onChange={setterOf(refresh)}
      placeholder="1h"
      fault={
        durationMs(refresh.value.trim()) === undefined ? 'A length of time such as 15m, 1h or 1d.' : undefined
      }
    />
    <TextField
      label="Not taken if it keeps less than"
      value={shrinkGuard.value}
      onChange={setterOf(shrinkGuard)}
      placeholder="50 %"
      hint="Of the present entries. Nor is a fetch without entries, unless this is 0 %."
      fault={shareIn(shrinkGuard.value) === undefined ? 'A percentage from 0 to 100.' : undefined}
    />
    <TextField
      label="Not taken if it covers more than so many times as many addresses"
      value={growGuard.value}
      onChange={setterOf(growGuard)}
      placeholder="10"
      hint="As the present entries do. 0 takes any number."
      fault={timesIn(growGuard.value) === undefined ? '0, or at least 1.' : undefined}
    />
  </>
)
