/** Entries that are pasted or come from a file: how many are read, and which lines can't be, while one types. */
import type { ComponentChildren } from 'preact'
import { ipListBodyBytesMax } from '../../../../../ground/core/limits.js'
import { useAnswer } from '../../../data/asking/api.js'
import { entriesInFile, formatOf, formatWords } from '../../../data/resources/list-files.js'
import { number } from '../../../data/texts/format.js'
import { Button } from '../../../kit/button.js'
import { LinesField } from '../../../kit/forms/fields.js'
import { FileField } from '../../../kit/forms/list-import.js'
import { Link } from '../../../kit/link.js'
import { Answered } from '../../../parts/states.js'
import type { TextValue } from '../list-texts.js'
import { FoundEntries } from './found-entries.js'

interface EntriesByHandProps {
  readonly text: TextValue
  readonly onNext: () => void
  /** More to press. */
  readonly children: ComponentChildren
}

export function EntriesByHand({ text, onNext, children }: EntriesByHandProps) {
  const set = (next: string): void => {
    text.value = next
  }
  return (
    <div class="split flow">
      <section class="panel stack" aria-label="By hand">
        <FileField mebibytesMax={ipListBodyBytesMax / (1024 * 1024)} onText={set} />
        <LinesField
          label="Entries"
          rows={12}
          value={text.value}
          hint="An address or a range on each line, such as 203.0.113.0/24, with a comment after # or ;. Or CSV, or JSON."
          onChange={set}
        />
        <div class="row">
          <Button kind="main" onClick={onNext}>
            Next: its name
          </Button>
          <Link to={['ip-lists', 'new']}>Another origin</Link>
          {children}
        </div>
      </section>
      <section class="panel stack" aria-label="What is read">
        <h2>What is read</h2>
        {text.value.trim() === '' ? (
          <p class="quiet">Nothing yet. A list may also begin empty.</p>
        ) : (
          <Read text={text.value} />
        )}
      </section>
    </div>
  )
}

function Read({ text }: { readonly text: string }) {
  const format = formatOf(text, '')
  const read = useAnswer([text], () => entriesInFile(text, format))
  return (
    <Answered answer={read}>
      {({ entries, faults }) => (
        <>
          <FoundEntries count={entries.length} first={entries.slice(0, shownMax)} refused={faults} />
          <p class="quiet">
            Read as: {formatWords[format]}, {number(text.length)} characters.
          </p>
        </>
      )}
    </Answered>
  )
}

const shownMax = 10
