/** A new IP list: one that is set by hand takes its entries at once, and shows what is read of them. */
import { useSignal } from '@preact/signals'
import { useAnswer } from '../../data/asking/api.js'
import { go, hrefTo } from '../../data/location.js'
import { entriesInFile, formatOf } from '../../data/resources/list-files.js'
import { number } from '../../data/texts/format.js'
import { LinesField } from '../../parts/forms/fields.js'
import { FormDrawer } from '../../parts/forms/form-drawer.js'
import { Answered } from '../../parts/states.js'
import { StateWord } from '../../parts/words.js'
import { bodyOf, isComplete, ListFields, useList } from './list-forms.js'

export function NewList({ onClose }: { readonly onClose: () => void }) {
  const values = useList()
  const entries = useSignal('')
  // If its entries are refused, the list is there already when they are sent again.
  const made = useSignal<string | undefined>(undefined)
  const isByHand = values.origin.value === 'hand'
  const text = isByHand ? entries.value : ''
  return (
    <FormDrawer
      title="New IP list"
      submit="Create"
      done="The IP list was created."
      isDisabled={!isComplete(values)}
      work={async (client) => {
        made.value ??= (await client.ipList.create(bodyOf(values))).id
        if (text.trim() !== '')
          await client.listEntries.replace(made.value, { text, format: formatOf(text, '') })
        go(hrefTo(['ip-lists', made.value]))
      }}
      onClose={(isDone) => {
        if (!isDone) onClose()
      }}
    >
      <ListFields values={values} />
      {isByHand && (
        <>
          <LinesField
            label="Entries"
            isOptional
            rows={8}
            value={entries.value}
            hint="A range or an address on each line, with a comment after # or ;. Or CSV, or JSON."
            onChange={(next) => {
              entries.value = next
            }}
          />
          {text.trim() !== '' && <ReadEntries text={text} />}
        </>
      )}
    </FormDrawer>
  )
}

/** What is read of a text, and what can't be, before anything is created. */
function ReadEntries({ text }: { readonly text: string }) {
  const read = useAnswer([text], () => entriesInFile(text, formatOf(text, '')))
  return (
    <Answered answer={read}>
      {({ entries, faults }) => (
        <div class="stack tight" role="status">
          <p>
            <StateWord
              tone={faults.length === 0 ? 'good' : 'bad'}
              text={`${number(entries.length)} ${entries.length === 1 ? 'entry is' : 'entries are'} read`}
            />{' '}
            <span class="mono quiet">
              {entries
                .slice(0, entriesShown)
                .map(({ cidr }) => cidr)
                .join(', ')}
              {entries.length > entriesShown && ' …'}
            </span>
          </p>
          {faults.map((fault) => (
            <p key={fault} class="fault" role="alert">
              {fault}
            </p>
          ))}
        </div>
      )}
    </Answered>
  )
}

const entriesShown = 4
