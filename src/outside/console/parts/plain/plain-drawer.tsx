/** One entry of a plain resource: its facts, its history, its replacement, change and end. */
import { useSignal } from '@preact/signals'
import { act } from '../../data/asking/api.js'
import { Drawer } from '../../kit/drawer.js'
import { Facts } from '../../kit/facts.js'
import { EditButton } from '../edit-button.js'
import { DeclaredForm } from '../forms/declared-form.js'
import { showToken } from '../forms/new-token.js'
import { HistoryLink } from '../history-link.js'
import type { PlainResource } from './plain-resource.js'

interface PlainDrawerProps<Entry extends { readonly id: string }, Beside> {
  readonly resource: PlainResource<Entry, Beside>
  readonly entry: Entry
  readonly beside: Beside
  /** Reads the list again. */
  readonly again: () => void
  readonly close: () => void
  /** Opens the form for one that takes the place of this. */
  readonly renew: (entry: Entry) => void
}

export function PlainDrawer<Entry extends { readonly id: string }, Beside>(
  props: PlainDrawerProps<Entry, Beside>,
) {
  const { resource, entry, beside, again, close } = props
  const { drawer, change, removal } = resource
  const isChanging = useSignal(false)
  if (isChanging.value && change !== undefined)
    return (
      <DeclaredForm
        look={change}
        fields={change.fields}
        present={change.valuesOf(entry)}
        send={(client, body) => change.send(client, entry.id, body)}
        onClose={(isDone) => {
          isChanging.value = false
          if (isDone) again()
        }}
      />
    )
  const refusal = removal.refusedBecause?.(entry)
  return (
    <Drawer title={drawer.title(entry)} onClose={close}>
      <Facts entries={[['Id', <code key="id">{entry.id}</code>], ...drawer.facts(entry, beside)]} />
      {drawer.below?.(entry, again)}
      <p class="row">
        <HistoryLink id={entry.id} />
        {drawer.links?.(entry)}
      </p>
      {drawer.texts?.(entry)}
      {refusal !== undefined && <p class="quiet">{refusal}</p>}
      <Buttons {...props} change={() => (isChanging.value = true)} />
    </Drawer>
  )
}

interface ButtonsProps<Entry extends { readonly id: string }, Beside>
  extends PlainDrawerProps<Entry, Beside> {
  readonly change: () => void
}

function Buttons<Entry extends { readonly id: string }, Beside>(props: ButtonsProps<Entry, Beside>) {
  const { resource, entry, renew, change } = props
  const { drawer, removal, renewal, rotation } = resource
  return (
    <div class="row">
      {drawer.buttons?.(entry)}
      {rotation !== undefined && (
        <EditButton right={removal.right ?? 'write'} onClick={() => rotate(props, rotation(entry))}>
          Rotate: make a new one
        </EditButton>
      )}
      {renewal?.isOffered(entry) === true && (
        <EditButton onClick={() => renew(entry)}>{renewal.button}</EditButton>
      )}
      {resource.change !== undefined && <EditButton onClick={change}>Edit</EditButton>}
      {removal.refusedBecause?.(entry) === undefined && (
        <EditButton
          right={removal.right ?? 'write'}
          kind="danger"
          onClick={() => remove(props)}
          confirm={removal.confirm(entry)}
        >
          {removal.button}
        </EditButton>
      )}
    </div>
  )
}

async function remove<Entry extends { readonly id: string }, Beside>({
  resource: { operations, removal },
  entry,
  close,
  again,
}: PlainDrawerProps<Entry, Beside>): Promise<void> {
  if (!(await act(removal.done(entry), (client) => operations(client).delete(entry.id)))) return
  close()
  again()
}

/** Makes one that can do the same; the old one works until it is deleted. */
async function rotate<Entry extends { readonly id: string }, Beside>(
  { resource, entry, close, again }: PlainDrawerProps<Entry, Beside>,
  body: object,
): Promise<void> {
  const { title, operations, nameOf, removal } = resource
  await act(`A new ${title} was made.`, async (client) => {
    const { token } = await operations(client).create(body as never)
    const canRemove = removal.refusedBecause?.(entry) === undefined
    showToken({
      title,
      token: token ?? '',
      replaced: {
        name: nameOf(entry),
        right: removal.right ?? 'write',
        remove: canRemove ? (client) => operations(client).delete(entry.id) : undefined,
        onRemoved: () => {
          close()
          again()
        },
      },
    })
    again()
  })
}
