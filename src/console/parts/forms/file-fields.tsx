/** Long texts, such as lists of addresses: from a file, or pasted. */
import { notify } from '../../data/notices.js'
import { number } from '../../data/texts/format.js'
import { LinesField } from './fields.js'

/** What the API takes at once. */
const fileBytesMax = 16 * 1024 * 1024
/** A field with more is slow to type in. */
const shownCharsMax = 200_000

export function FileField({ onText }: { readonly onText: (text: string) => void }) {
  return (
    <label class="row">
      <span>From a file</span>
      <input
        type="file"
        accept=".txt,.csv,.json,.ndjson,.netset,.list,text/*"
        onChange={async (event) => {
          const file = event.currentTarget.files?.[0]
          if (file === undefined) return
          if (file.size > fileBytesMax)
            notify({ kind: 'bad', text: 'The file is larger than 16 MiB: the API takes no more at once.' })
          else onText(await file.text())
        }}
      />
    </label>
  )
}

interface LongTextFieldProps {
  readonly label: string
  readonly hint: string
  readonly text: string
  readonly onChange: (text: string) => void
}

/** A text that is too long for a field is shown by its length. */
export const LongTextField = ({ label, hint, text, onChange }: LongTextFieldProps) =>
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
