/**
 * The page of a plain resource, or a tab of one: its list, the form that makes one, and a drawer for the entry that the path
 * names.
 */
import { useSignal } from '@preact/signals'
import { api, useAnswer } from '../../data/asking/api.js'
import { useMore } from '../../data/asking/more.js'
import { go, hrefTo } from '../../data/location.js'
import { Link } from '../../kit/link.js'
import { Table } from '../../kit/tables/table.js'
import { BeginButton } from '../edit-button.js'
import { DeclaredForm, type FormBody } from '../forms/declared-form.js'
import { NewTokenDialog, showToken } from '../forms/new-token.js'
import { Listing } from '../listing.js'
import type { HeadedProps } from '../page.js'
import { Answered, Empty } from '../states.js'
import { PlainDrawer } from './plain-drawer.js'
import type { PlainResource } from './plain-resource.js'

const step = 100

interface PlainListProps<Entry extends { readonly id: string }, Beside> extends HeadedProps {
  readonly resource: PlainResource<Entry, Beside>
}

export function PlainList<Entry extends { readonly id: string }, Beside>(
  props: PlainListProps<Entry, Beside>,
) {
  const { resource, head, opened } = props
  const { list, form, place, idPrefix } = resource
  const answer = useMore([], (client) => resource.operations(client).list({ limit: step }), step)
  const pages = Math.max(1, Math.ceil((answer.data?.entries.length ?? 0) / step))
  const beside = resource.useBeside(pages * step)
  /** A new one is being made, in the place of another or not. */
  const making = useSignal<{ readonly like?: Entry } | undefined>(undefined)
  const open = (id?: string): void =>
    go(hrefTo(id === undefined ? [place.page] : [place.page, id], { tab: place.tab }))
  const renew = (like: Entry): void => {
    making.value = { like }
    open()
  }
  return (
    <div class="stack">
      {head(
        <BeginButton right={form.right ?? 'write'} onClick={() => (making.value = {})}>
          {form.button}
        </BeginButton>,
      )}
      {list.about}
      {making.value !== undefined && (
        <NewOne
          key={making.value.like?.id}
          resource={resource}
          like={making.value.like}
          open={open}
          onClose={(isDone) => {
            making.value = undefined
            if (isDone) answer.again()
          }}
        />
      )}
      <Listing answer={answer}>
        {(entries) => (
          <>
            <Table
              label={list.label}
              rows={inOrder(entries, list.orderOf)}
              columns={list.columns(beside)}
              keyOf={({ id }) => id}
              opened={opened}
              onOpen={({ id }) => open(id)}
              empty={<Empty>{list.empty}</Empty>}
            />
            {list.note?.(beside)}
            {entries
              .filter(({ id }) => id === opened)
              .map((entry) => (
                <PlainDrawer
                  key={entry.id}
                  {...{ resource, entry, beside, renew }}
                  again={answer.again}
                  close={() => open()}
                />
              ))}
            {idPrefix !== undefined &&
              opened?.startsWith(idPrefix) &&
              !entries.some(({ id }) => id === opened) && <Gone title={resource.title} id={opened} />}
          </>
        )}
      </Listing>
      <NewTokenDialog />
    </div>
  )
}

const inOrder = <Entry,>(
  entries: readonly Entry[],
  orderOf: ((entry: Entry) => number) | undefined,
): readonly Entry[] =>
  orderOf === undefined ? entries : entries.toSorted((one, other) => orderOf(one) - orderOf(other))

const Gone = ({ title, id }: { readonly title: string; readonly id: string }) => (
  <Empty>
    There is no {title} {id} any more. Its history is kept:{' '}
    <Link to={['changes']} with={{ id }}>
      its changes
    </Link>
  </Empty>
)

interface FormProps<Entry extends { readonly id: string }, Beside> {
  readonly resource: PlainResource<Entry, Beside>
  /** The entry whose place it takes. */
  readonly like: Entry | undefined
  readonly open: (id: string) => void
  readonly onClose: (isDone: boolean) => void
}

/** The form that makes one, or one that takes the place of another. */
function NewOne<Entry extends { readonly id: string }, Beside>({
  resource,
  like,
  open,
  onClose,
}: FormProps<Entry, Beside>) {
  const { title, form, renewal, operations } = resource
  const send = async (body: FormBody): Promise<void> => {
    const made = await operations(api).create((form.bodyOf?.(body, like) ?? body) as never)
    if (form.whenMade === 'token') showToken({ title, token: made.token ?? '' })
    else if (form.whenMade === 'open') open(made.id)
    else await form.whenMade(made, body, like)
  }
  const fields = useAnswer([like?.id], async (client) => form.fields(client, like))
  const look = like === undefined ? form : { ...form, ...renewal?.look(like) }
  return (
    <Answered answer={fields}>
      {(known) =>
        known.length === 0 ? (
          <Empty>{form.impossible}</Empty>
        ) : (
          <DeclaredForm look={look} fields={known} send={(_, body) => send(body)} onClose={onClose} />
        )
      }
    </Answered>
  )
}
