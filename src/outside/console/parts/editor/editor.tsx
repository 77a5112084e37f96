/**
 * A field for an expression, for JSON or YAML, with completion and with faults at their place. The editor proper is loaded
 * when the first field is shown, or entered (`editor-core.ts`); until then, and if it can't be loaded, a plain field does
 * the same.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { EditorCore, openEditor } from './editor-core.js'
import type { EditorProps } from './editor-props.js'

let loading: Promise<typeof openEditor> | undefined

async function load(): Promise<typeof openEditor> {
  const { openEditor } = await import('./editor-core.js')
  return openEditor
}

/** Loads the editor once; a failure is tried again by the next field. */
function loadOnce(): Promise<typeof openEditor> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

const lineHeightRows = (value: string): number => Math.min(24, Math.max(1, value.split('\n').length))

export function Editor(props: EditorProps) {
  const { label, mode, value, onChange, faults = [], hint, placeholder, isDisabled, isLabelHidden } = props
  const id = useId()
  const isWanted = useSignal(props.isLoadedByFocus !== true)
  const { host, isOpen } = useCore(props, isWanted.value)
  return (
    <div class="field editor">
      {isOpen ? (
        <span class={isLabelHidden ? 'unseen' : 'label'}>{label}</span>
      ) : (
        <label for={id} class={isLabelHidden ? 'unseen' : undefined}>
          {label}
        </label>
      )}
      <div ref={host} hidden={!isOpen} class={faults.length > 0 ? 'editor-host faulty' : 'editor-host'} />
      {!isOpen && (
        <textarea
          id={id}
          rows={Math.max(mode === 'expression' ? 1 : 3, lineHeightRows(value))}
          value={value}
          placeholder={placeholder}
          disabled={isDisabled}
          spellcheck={false}
          aria-invalid={faults.length > 0}
          onFocus={() => {
            isWanted.value = true
          }}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
      {hint !== undefined && <p class="quiet">{hint}</p>}
      {faults.map(({ text, place }) => (
        <p class="fault" role="alert" key={`${place} ${text}`}>
          {text}
        </p>
      ))}
    </div>
  )
}

/** Opens the editor in the host once both are there, and keeps it as the properties say. */
function useCore(props: EditorProps, isWanted: boolean) {
  const host = useRef<HTMLDivElement>(null)
  const core = useRef<EditorCore>(undefined)
  const latest = useRef(props)
  latest.current = props
  const isOpen = useSignal(false)
  const hadFocus = useRef(false)
  useEffect(() => {
    if (!isWanted) return
    let isGone = false
    void loadOnce().then(
      (open) => {
        const element = host.current
        if (isGone || element === null) return
        hadFocus.current = element.parentElement?.contains(document.activeElement) ?? false
        // A second mount of the same element keeps the shadow root of the first.
        const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
        core.current = open(root, {
          ...latest.current,
          onChange: (text) => latest.current.onChange(text),
        })
        isOpen.value = true
      },
      // The plain field stays.
      () => {},
    )
    return () => {
      isGone = true
      core.current?.close()
      core.current = undefined
    }
  }, [props.mode, isWanted])
  const { value, vocabulary, faults = [], isDisabled = false } = props
  useEffect(() => {
    // Someone who types into the plain field goes on in the editor.
    if (isOpen.value && hadFocus.current) core.current?.focus()
  }, [isOpen.value])
  useEffect(() => core.current?.setText(value), [value, isOpen.value])
  useEffect(() => core.current?.setVocabulary(vocabulary), [vocabulary, isOpen.value])
  useEffect(() => core.current?.setFaults(faults), [JSON.stringify(faults), value, isOpen.value])
  useEffect(() => core.current?.setDisabled(isDisabled), [isDisabled, isOpen.value])
  return { host, isOpen: isOpen.value }
}
