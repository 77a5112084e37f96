/** Fields of forms, each with its label. What is wrong with a value stands below it. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { useFaultAt } from './field-faults.js'

interface Described {
  /** The member of the body that it is for, such as `source.url`: in a form, what the API says against it stands here. */
  readonly name?: string | undefined
  /** The expected value, in a few words. */
  readonly hint?: string | undefined
  /** The fault of the value, if the page knows it by itself. */
  readonly fault?: string | undefined
}

interface FieldProps<Value> extends Described {
  readonly label: string
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly isDisabled?: boolean
  /** May be left out, which is said next to the label. */
  readonly isOptional?: boolean | undefined
}

/** The hint and the fault below a field, and the attributes that tell both to those who can't see the field. */
export function useDescription({ name, hint, fault: known }: Described) {
  const id = useId()
  const refused = useFaultAt(name)
  const fault = known ?? refused
  const [hintId, faultId] = [`${id}-hint`, `${id}-fault`]
  const describedBy = [hint !== undefined && hintId, fault !== undefined && faultId].filter(Boolean).join(' ')
  return {
    attributes: { id, 'aria-invalid': fault !== undefined, 'aria-describedby': describedBy || undefined },
    below: (
      <>
        {hint !== undefined && (
          <p class="quiet" id={hintId}>
            {hint}
          </p>
        )}
        {fault !== undefined && (
          <p class="fault" role="alert" id={faultId}>
            {fault}
          </p>
        )}
      </>
    ),
  }
}

interface FrameProps {
  readonly id: string
  readonly label: string
  readonly isOptional?: boolean | undefined
  readonly below: ComponentChildren
  readonly children: ComponentChildren
}

const Frame = ({ id, label, isOptional = false, below, children }: FrameProps) => (
  <div class="field">
    <label for={id}>
      {label}
      {isOptional && <span class="optional"> optional</span>}
    </label>
    {children}
    {below}
  </div>
)

interface TextFieldProps extends FieldProps<string> {
  readonly placeholder?: string
  /** Known values to choose from; others can be typed. */
  readonly suggestions?: readonly string[]
}

export function TextField(props: TextFieldProps) {
  const { label, value, onChange, isDisabled, isOptional, placeholder, suggestions } = props
  const { attributes, below } = useDescription(props)
  const { id } = attributes
  return (
    <Frame {...{ id, label, isOptional, below }}>
      <input
        {...attributes}
        type="text"
        value={value}
        placeholder={placeholder}
        disabled={isDisabled}
        autoComplete="off"
        spellcheck={false}
        {...(suggestions && { list: `${id}-list` })}
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
export function LinesField(props: FieldProps<string> & { readonly rows?: number }) {
  const { label, value, onChange, isDisabled, isOptional, rows = 4 } = props
  const { attributes, below } = useDescription(props)
  return (
    <Frame {...{ id: attributes.id, label, isOptional, below }}>
      <textarea
        {...attributes}
        rows={rows}
        value={value}
        disabled={isDisabled}
        spellcheck={false}
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
export function SecretField({ isStored, hint, hasLines = false, ...field }: SecretFieldProps) {
  const hints = [isStored && 'One is stored, and stays if this is empty.', hint].filter(Boolean).join(' ')
  const props = { ...field, hint: hints || undefined }
  return hasLines ? <LinesField {...props} /> : <PasswordField {...props} />
}

function PasswordField(props: FieldProps<string>) {
  const { label, value, onChange, isOptional } = props
  const { attributes, below } = useDescription(props)
  return (
    <Frame {...{ id: attributes.id, label, isOptional, below }}>
      <input
        {...attributes}
        type="password"
        value={value}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </Frame>
  )
}

interface ChoiceFieldProps extends FieldProps<string> {
  readonly choices: readonly (readonly [value: string, text: string])[]
}

export function ChoiceField(props: ChoiceFieldProps) {
  const { label, value, onChange, isDisabled, isOptional, choices } = props
  const { attributes, below } = useDescription(props)
  return (
    <Frame {...{ id: attributes.id, label, isOptional, below }}>
      <select
        {...attributes}
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

export function SwitchField(props: FieldProps<boolean>) {
  const { label, value, onChange, isDisabled } = props
  const { attributes, below } = useDescription(props)
  return (
    <div class="field switch">
      <input
        {...attributes}
        type="checkbox"
        checked={value}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={attributes.id}>{label}</label>
      {below}
    </div>
  )
}
