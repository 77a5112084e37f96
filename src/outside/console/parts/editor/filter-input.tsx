/**
 * A field for a filter, which completes names, functions and values, and marks the place of a fault. Enter applies it, and
 * so does leaving the field. `/` leads to it.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError } from '../../../../words/client/api-error.js'
import { errorText } from '../../data/asking/api.js'
import { type Completion, completionsAt } from '../../data/asking/completion.js'
import { needVocabulary, valuesAt, vocabularyFault, vocabularyOf } from '../../data/asking/vocabulary.js'
import { useDescription } from '../../kit/forms/fields.js'

interface FilterInputProps {
  /** In a form, the member of the body that it is for. */
  readonly name?: string
  readonly label: string
  /** The rows that are filtered: `decisions`, or events of this kind. */
  readonly about: string
  /** The filter that holds. */
  readonly value: string
  /** Called when the filter is complete; if it returns a text, the field shows that. */
  readonly onApply: (filter: string) => unknown
  /** Called with each change, complete or not. */
  readonly onInput?: (filter: string) => void
  /** The API's error for the filter that holds. Shown here if it is about a filter. */
  readonly error?: unknown
  readonly hint?: string
  readonly placeholder?: string
  /** Takes the focus when it is shown. */
  readonly isFocused?: boolean
}

const completionsMax = 40

export function FilterInput(props: FilterInputProps) {
  const { name, label, about, value, error, hint, placeholder, isFocused = false } = props
  const { attributes, below } = useDescription({ name, hint })
  const { id, 'aria-describedby': described = '' } = attributes
  const input = useRef<HTMLInputElement>(null)
  const field = useField(props, input)
  useEffect(needVocabulary, [])
  useEffect(() => {
    if (isFocused) input.current?.focus()
  }, [])
  const { draft, options, active } = field
  const fault = isFilterFault(error) && draft.value === value ? error : undefined
  const isOpen = options.value.length > 0
  return (
    <div class="field filter-input">
      <label for={id}>{label}</label>
      <input
        {...attributes}
        {...(fault && { 'aria-invalid': true, 'aria-describedby': `${described} ${id}-marked` })}
        ref={input}
        type="text"
        role="combobox"
        class="mono"
        data-search
        value={draft.value}
        placeholder={placeholder}
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-activedescendant={active.value >= 0 ? `${id}-${active.value}` : undefined}
        onInput={field.input}
        onKeyDown={field.key}
        onBlur={field.leave}
      />
      <Options id={id} options={options.value} active={active.value} onChoose={field.choose} />
      {below}
      {vocabularyFault.value !== '' && (
        <p class="quiet">
          Names can't be completed: {vocabularyFault.value} (about {about}){' '}
          <button type="button" class="as-link" onClick={needVocabulary}>
            Try again
          </button>
        </p>
      )}
      {fault && <Fault id={`${id}-marked`} filter={value} error={fault} />}
    </div>
  )
}

type InputRef = { readonly current: HTMLInputElement | null }

/** The typed filter, and when it is applied. */
function useField({ about, value, onApply, onInput }: FilterInputProps, input: InputRef) {
  const draft = useSignal(value)
  const applied = useRef(value)
  useEffect(() => {
    if (applied.current !== value) draft.value = value
    applied.current = value
  }, [value])
  const set = (text: string): void => {
    draft.value = text
    onInput?.(text)
  }
  const offered = useCompletions(about, input, set)
  const apply = (): void => {
    offered.close()
    const text = draft.value.trim()
    if (text === applied.current.trim()) return
    applied.current = text
    const shown = onApply(text)
    if (typeof shown !== 'string') return
    applied.current = shown
    draft.value = shown
  }
  const key = (event: KeyboardEvent): void => {
    if (!offered.key(event)) {
      if (event.key !== 'Enter') return
      apply()
    }
    event.preventDefault()
    event.stopPropagation()
  }
  const typed = (event: { readonly currentTarget: HTMLInputElement }): void => {
    set(event.currentTarget.value)
    offered.complete()
  }
  return { ...offered, draft, key, input: typed, leave: apply }
}

/** The completions that are offered, and which of them is marked. */
function useCompletions(about: string, input: InputRef, set: (text: string) => void) {
  const options = useSignal<readonly Completion[]>([])
  const active = useSignal(-1)
  const from = useRef(0)
  const close = (): void => {
    options.value = []
    active.value = -1
  }
  const complete = (): void => {
    const { value: text = '', selectionEnd } = input.current ?? {}
    const found = completionsIn(text, selectionEnd ?? text.length, about)
    from.current = found.from
    options.value = found.completions.slice(0, completionsMax)
    active.value = -1
  }
  const choose = ({ kind, text }: Completion): void => {
    const element = input.current
    if (element === null) return
    const written = kind === 'function' ? `${text}(` : text
    const { value, selectionEnd } = element
    // At once, because the place of the cursor is behind it.
    element.value = value.slice(0, from.current) + written + value.slice(selectionEnd ?? value.length)
    element.focus()
    element.setSelectionRange(from.current + written.length, from.current + written.length)
    set(element.value)
    close()
  }
  const move = (step: number): void => {
    const { length } = options.value
    active.value = (Math.max(active.value, step < 0 ? 0 : -1) + step + length) % length
  }
  /** Was the key for the list? */
  const key = (event: KeyboardEvent): boolean => {
    const chosen = options.value[active.value]
    const isOpen = options.value.length > 0
    if ((event.key === 'ArrowDown' && !isOpen) || (event.key === ' ' && event.ctrlKey)) complete()
    else if (event.key === 'ArrowDown') move(1)
    else if (event.key === 'ArrowUp' && isOpen) move(-1)
    else if ((event.key === 'Enter' || event.key === 'Tab') && chosen !== undefined) choose(chosen)
    else if (event.key === 'Escape' && isOpen) close()
    else return false
    return true
  }
  return { options, active, choose, complete, close, key }
}

function completionsIn(text: string, position: number, about: string) {
  const vocabulary = vocabularyOf(about)
  const values = valuesAt(text, position, vocabulary)
  if (values.completions.length > 0) return values
  const found = completionsAt(text, position, vocabulary)
  const written = text.slice(found.from, position)
  // Nothing is written yet, or nothing is missing.
  const isIdle = written === '' || found.completions.some((each) => each.text === written)
  return isIdle && text.trim() !== '' ? { from: found.from, completions: [] } : found
}

interface OptionsProps {
  readonly id: string
  readonly options: readonly Completion[]
  readonly active: number
  readonly onChoose: (option: Completion) => void
}

function Options({ id, options, active, onChoose }: OptionsProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: 'nearest' }), [active])
  return (
    <div id={`${id}-list`} role="listbox" aria-label="Completions" ref={list} hidden={options.length === 0}>
      {options.map((option, index) => (
        <div
          key={option.text}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          // The field would lose the focus, and apply the filter, before the click.
          onMouseDown={(event) => {
            event.preventDefault()
            onChoose(option)
          }}
        >
          <span class="mono">
            {option.text} <span class="quiet">{option.detail}</span>
          </span>
          <span class="quiet">{option.about}</span>
        </div>
      ))}
    </div>
  )
}

export const isFilterFault = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.error_code === 'ERR_INVALID_EXPRESSION'

/** The message of the API, with the place that it named marked. */
function Fault({
  id,
  filter,
  error,
}: {
  readonly id: string
  readonly filter: string
  readonly error: ApiError
}) {
  const text = errorText(error).replace(/^The query parameter "\w+" is not a valid expression: /, '')
  const place = error.places.find(({ offset }) => offset < filter.length)
  return (
    <div id={id} role="alert" class="fault">
      <p>{text}</p>
      {place !== undefined && (
        <code>
          {filter.slice(0, place.offset)}
          <mark>{filter.slice(place.offset, place.offset + Math.max(1, place.length))}</mark>
          {filter.slice(place.offset + Math.max(1, place.length))}
        </code>
      )}
    </div>
  )
}
