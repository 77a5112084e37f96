/** A list from a file, or pasted: on the left, with its options; on the right, what it would change. */
import type { ComponentChildren } from 'preact'
import { notify } from '../../data/notices.js'
import { number } from '../../data/texts/format.js'
import { LinesField } from './fields.js'

/** A field with more is slow to type in. */
const shownCharsMax = 200_000

interface ListImportProps {
  readonly label: string
  readonly hint: string
  readonly text: { value: string }
  /** The size of the largest list that the API takes at once. */
  readonly mebibytesMax: number
  /** The number of entries now, such as `12 rules`. */
  readonly present: string
  /** Below the text: how it is read. */
  readonly children: ComponentChildren
  readonly outcome: () => ComponentChildren
}

export function ListImport(props: ListImportProps) {
  const { label, hint, text, mebibytesMax, present, children, outcome } = props
  const set = (next: string): void => {
    text.value = next
  }
  return (
    <div class="split">
      <div class="stack">
        <FileField mebibytesMax={mebibytesMax} onText={set} />
        <LongTextField {...{ label, hint }} text={text.value} onChange={set} />
        {children}
      </div>
      {text.value.trim() === '' ? (
        <p class="quiet">
          Paste a list or choose a file: what it would change is shown here, before anything is saved. There
          are {present} now.
        </p>
      ) : (
        outcome()
      )}
    </div>
  )
}

interface FileFieldProps {
  readonly mebibytesMax: number
  readonly onText: (text: string) => void
}

export const FileField = ({ mebibytesMax, onText }: FileFieldProps) => (
  <label class="row">
    <span>From a file</span>
    <input
      type="file"
      accept=".txt,.csv,.json,.ndjson,.netset,.list,text/*"
      onChange={async (event) => {
        const file = event.currentTarget.files?.[0]
        if (file === undefined) return
        if (file.size > mebibytesMax * 1024 * 1024)
          notify({
            kind: 'bad',
            text: `The file is larger than ${mebibytesMax} MiB: the API takes no more at once.`,
          })
        else onText(await file.text())
      }}
    />
  </label>
)

interface LongTextFieldProps {
  readonly label: string
  readonly hint: string
  readonly text: string
  readonly onChange: (text: string) => void
}

/** A text that is too long for a field is shown by its length. */
const LongTextField = ({ label, hint, text, onChange }: LongTextFieldProps) =>
  text.length > shownCharsMax ? (
    <p>
      {label}: {number(text.length)} characters.{' '}
      <button type="button" onClick={() => onChange('')}>
        Drop it
      </button>
    </p>
  ) : (
    <LinesField label={label} rows={14} value={text} onChange={onChange} hint={hint} />
  )

interface ReadSoFarProps {
  readonly isLoading: boolean
  readonly count: number
  readonly what: string
}

/** Such as `12,000 rules are read …`. */
export const ReadSoFar = ({ isLoading, count, what }: ReadSoFarProps) =>
  isLoading && count > 0 ? (
    <p class="quiet" role="status">
      {number(count)} {what} are read …
    </p>
  ) : null
