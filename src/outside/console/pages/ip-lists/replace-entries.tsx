/** All entries of a list from a file or a text: what differs is shown before it is saved, as one change. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { ipListBodyBytesMax } from '../../../../ground/core/limits.js'
import type { Resource } from '../../../../words/client/kinds.js'
import type { IpListEntry } from '../../../../words/shape/ip-lists/ip-list-entries.js'
import { act, api, useAnswer } from '../../data/asking/api.js'
import { useKeptText } from '../../data/drafts/kept-text.js'
import { go, hrefTo } from '../../data/location.js'
import { entriesInFile, entryDifference, formatChoices, formatOf } from '../../data/resources/list-files.js'
import { number } from '../../data/texts/format.js'
import { ChoiceField } from '../../kit/forms/fields.js'
import { ListImport, ReadSoFar } from '../../kit/forms/list-import.js'
import { Link } from '../../kit/link.js'
import { DifferenceCounts, SignedList } from '../../kit/tables/signed-list.js'
import { EditButton } from '../../parts/edit-button.js'
import { Answered } from '../../parts/states.js'

const mebibyte = 1024 * 1024
/** For longer lists, only the number of entries is compared: reading them takes a request for each thousand. */
const comparedMax = 100_000

interface Present {
  readonly list: Resource<'ipList'>
  /** Undefined: there are too many to compare. */
  readonly entries: readonly IpListEntry[] | undefined
}

export function ReplaceEntries({ id }: { readonly id: string }) {
  const read = useSignal(0)
  const present = useAnswer([id], async (client): Promise<Present> => {
    const list = await client.ipList.get(id)
    if (list.entries > comparedMax) return { list, entries: undefined }
    const entries: IpListEntry[] = []
    for await (const entry of client.listEntries.list(id)) {
      entries.push(entry)
      if (entries.length % 1_000 === 0) read.value = entries.length
    }
    return { list, entries }
  })
  return (
    <div class="stack">
      <p>
        <Link to={['ip-lists', id]}>← the list</Link>
      </p>
      <ReadSoFar isLoading={present.isLoading} count={read.value} what="entries" />
      <Answered answer={present}>{(now) => <Import present={now} />}</Answered>
    </div>
  )
}

function Import({ present }: { readonly present: Present }) {
  const text = useKeptText(`weir-entries ${present.list.id}`)
  const chosen = useSignal('')
  const { name, entries } = present.list
  return (
    <>
      <h1>Set the entries of {name}</h1>
      <ListImport
        label="Entries"
        hint="All of the list: a range in each line, with a comment after # or ;. Or CSV, or JSON."
        text={text}
        mebibytesMax={ipListBodyBytesMax / mebibyte}
        present={`${number(entries)} entries`}
        outcome={() => (
          <Outcome {...{ present, text: text.value, chosen: chosen.value }} forget={text.forget} />
        )}
      >
        <ChoiceField
          label="Format"
          value={chosen.value}
          choices={formatChoices}
          onChange={(format) => {
            chosen.value = format
          }}
        />
      </ListImport>
    </>
  )
}

interface OutcomeProps {
  readonly present: Present
  readonly text: string
  readonly chosen: string
  readonly forget: () => void
}

function Outcome({ present, text, chosen, forget }: OutcomeProps) {
  const format = formatOf(text, chosen)
  const { id, name } = present.list
  const read = useAnswer([text, format], async () => ({ of: text, ...(await entriesInFile(text, format)) }))
  const save = async (): Promise<void> => {
    const isDone = await act('The entries were replaced.', async (client) => {
      const { updated_at } = await client.ipList.get(id)
      if (updated_at !== present.list.updated_at)
        throw new Error(
          'Nothing was saved: the list was saved meanwhile. Load the page again to see the difference with it',
        )
      await api.listEntries.replace(id, { text, format })
    })
    if (!isDone) return
    forget()
    go(hrefTo(['ip-lists', id]))
  }
  return (
    <section class="panel stack" aria-label="What is different">
      <Answered answer={read}>
        {({ of, entries, faults }) => (
          <>
            {faults.map((fault) => (
              <p key={fault} class="fault" role="alert">
                {fault}
              </p>
            ))}
            <Differences present={present.entries} entries={entries} />
            <div class="row">
              <EditButton
                kind="main"
                onClick={save}
                isDisabled={of !== text || faults.length > 0}
                confirm={`Replace all entries of ${name}? It has ${number(present.list.entries)} now, and would have ${number(entries.length)}.`}
              >
                Save as one change
              </EditButton>
            </div>
          </>
        )}
      </Answered>
    </section>
  )
}

interface DifferencesProps {
  readonly present: readonly IpListEntry[] | undefined
  readonly entries: readonly IpListEntry[]
}

function Differences({ present, entries }: DifferencesProps) {
  const difference = useMemo(() => present && entryDifference(present, entries), [present, entries])
  if (difference === undefined)
    return <p>{number(entries.length)} entries. The list is too long to show what differs.</p>
  const { added, removed, changed, kept } = difference
  return (
    <>
      <DifferenceCounts
        {...{ added: added.length, removed: removed.length, changed: changed.length, kept }}
      />
      <SignedList title="Removed" sign="−" kind="removed" entries={removed} line={EntryLine} />
      <SignedList title="Added" sign="+" kind="added" entries={added} line={EntryLine} />
      <SignedList
        title="Changed"
        sign="~"
        kind=""
        entries={changed.map(({ after }) => after)}
        line={EntryLine}
      />
    </>
  )
}

const EntryLine = ({ entry: { cidr, comment, expires_at } }: { readonly entry: IpListEntry }) => (
  <>
    <span class="mono">{cidr}</span> <span class="quiet">{comment ?? ''}</span>{' '}
    {expires_at !== null && <span class="quiet">until {expires_at}</span>}
  </>
)
