/** Fields of forms, each with its label. What is wrong with a value stands below it. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps<Value> {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  /** What is expected, in a few words. */
  readonly hint?: string | undefined
  readonly fault?: string | undefined
  readonly isDisabled?: boolean
  /** May be left out, which is said next to the label. */
  readonly isOptional?: boolean | undefined
}

interface FrameProps {
  readonly id: string
  readonly label: string
  readonly isOptional?: boolean | undefined
  readonly hint?: string | undefined
  readonly fault?: string | undefined
  readonly children: ComponentChildren
}

const Frame = ({ id, label, isOptional = false, hint, fault, children }: FrameProps) => (
  <div class="field">
    <label for={id}>
      {label}
      {isOptional && <span class="optional"> optional</span>}
    </label>
    {children}
    {hint !== undefined && <p class="quiet">{hint}</p>}
    {fault !== undefined && (
      <p class="fault" role="alert">
        {fault}
      </p>
    )}
  </div>
)

interface TextFieldProps extends FieldProps<string> {
  readonly placeholder?: string
  /** Known values to choose from; others can be typed. */
  readonly suggestions?: readonly string[]
}

export function TextField({
  label,
  value,
  onChange,
  hint,
  fault,
  isDisabled,
  isOptional,
  placeholder,
  suggestions,
}: TextFieldProps) {
  const id = useId()
  return (
    <Frame {...{ id, label, isOptional, hint, fault }}>
      <input
        id={id}
        type="text"
        value={value}
        placeholder={placeholder}
        disabled={isDisabled}
        autoComplete="off"
        spellcheck={false}
        {...(suggestions && { list: `${id}-list` })}
        aria-invalid={fault !== undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </Frame>
  )
}

/** A text of several lines. */
export function LinesField({
  label,
  value,
  onChange,
  hint,
  fault,
  isDisabled,
  isOptional,
  rows = 4,
}: FieldProps<string> & { readonly rows?: number }) {
  const id = useId()
  return (
    <Frame {...{ id, label, isOptional, hint, fault }}>
      <textarea
        id={id}
        rows={rows}
        value={value}
        disabled={isDisabled}
        spellcheck={false}
        aria-invalid={fault !== undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </Frame>
  )
}

interface SecretFieldProps extends Omit<FieldProps<string>, 'isDisabled'> {
  readonly isStored: boolean
  /** Such as a key in PEM. */
  readonly hasLines?: boolean
}

/** A field for a secret: what is stored is never shown, and stays unless another is typed. */
export function SecretField(props: SecretFieldProps) {
  const { label, value, onChange, hint, fault, isStored, isOptional, hasLines = false } = props
  const id = useId()
  const hints = [isStored && 'One is stored, and stays if this is empty.', hint].filter(Boolean).join(' ')
  if (hasLines) return <LinesField {...{ label, value, onChange, isOptional, fault }} hint={hints} />
  return (
    <Frame {...{ id, label, isOptional, fault }} hint={hints || undefined}>
      <input
        id={id}
        type="password"
        value={value}
        autoComplete="off"
        spellcheck={false}
        aria-invalid={fault !== undefined}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </Frame>
  )
}

interface ChoiceFieldProps extends FieldProps<string> {
  readonly choices: readonly (readonly [value: string, text: string])[]
}

export function ChoiceField({
  label,
  value,
  onChange,
  hint,
  fault,
  isDisabled,
  isOptional,
  choices,
}: ChoiceFieldProps) {
  const id = useId()
  return (
    <Frame {...{ id, label, isOptional, hint, fault }}>
      <select
        id={id}
        value={value}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  )
}

export function SwitchField({ label, value, onChange, hint, isDisabled }: FieldProps<boolean>) {
  const id = useId()
  return (
    <div class="field switch">
      <input
        id={id}
        type="checkbox"
        checked={value}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && <p class="quiet">{hint}</p>}
    </div>
  )
}
