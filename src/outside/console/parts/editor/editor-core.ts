/**
 * The editor proper: CodeMirror, in a shadow root, where it adopts its styles as sheets (the content security policy allows
 * no style elements). It is loaded on demand, and only `editor.tsx` knows it. Tab leaves the field.
 */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import {
  bracketMatching,
  HighlightStyle,
  StreamLanguage,
  type StringStream,
  syntaxHighlighting,
} from '@codemirror/language'
import { type Diagnostic, setDiagnostics } from '@codemirror/lint'
import { Compartment, EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap, placeholder as placeholderText, tooltips } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { completionsAt, lengthAt, type Vocabulary } from '../../data/asking/completion.js'
import { rangeOfPlace } from '../../data/drafts/json-place.js'
import { type ExpressionAt, expressionIn } from '../../data/drafts/yaml-expression.js'
import type { EditorFault, EditorProps } from './editor-props.js'

interface CoreOptions extends Pick<EditorProps, 'label' | 'mode' | 'value' | 'placeholder' | 'vocabulary'> {
  readonly onChange: (text: string) => void
}

export interface EditorCore {
  setText(text: string): void
  setVocabulary(vocabulary: Vocabulary | undefined): void
  setFaults(faults: readonly EditorFault[]): void
  setDisabled(isDisabled: boolean): void
  focus(): void
  close(): void
}

export function openEditor(root: ShadowRoot, options: CoreOptions): EditorCore {
  let { vocabulary } = options
  const editable = new Compartment()
  const owner = new Owner(options.value)
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        basics(options),
        languages[options.mode](),
        completing(() => vocabulary, expressionIn[options.mode]),
        editable.of([]),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return
          const text = update.state.doc.toString()
          if (owner.learns(text)) options.onChange(text)
        }),
      ],
    }),
  })
  return {
    setText: (text) => {
      const present = view.state.doc.toString()
      if (owner.says(text, present)) view.dispatch({ changes: { from: 0, to: present.length, insert: text } })
    },
    setVocabulary: (next) => {
      vocabulary = next
    },
    setFaults: (faults) => {
      const text = view.state.doc.toString()
      view.dispatch(
        setDiagnostics(
          view.state,
          faults.flatMap((fault) => diagnosticOf(fault, text)),
        ),
      )
    },
    setDisabled: (isDisabled) =>
      view.dispatch({
        effects: editable.reconfigure(
          isDisabled ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : [],
        ),
      }),
    focus: () => view.focus(),
    close: () => view.destroy(),
  }
}

/** More than are typed before a page is drawn again. */
const unansweredMax = 100

/**
 * The text that the owner of the field knows. The owner says each text that it learned back when it is drawn again, by when
 * someone may have typed more: such an echo must not replace what was typed since.
 */
class Owner {
  #known: string
  #unanswered: string[] = []

  constructor(text: string) {
    this.#known = text
  }

  /** The text changed; is that news to the owner? */
  learns(text: string): boolean {
    if (text === this.#known) return false
    this.#known = text
    this.#unanswered = [...this.#unanswered.slice(1 - unansweredMax), text]
    return true
  }

  /** The owner says a text; does it take the place of the present one? */
  says(text: string, present: string): boolean {
    const echo = this.#unanswered.lastIndexOf(text)
    if (text !== present && echo >= 0) {
      this.#unanswered = this.#unanswered.slice(echo + 1)
      return false
    }
    this.#unanswered = []
    this.#known = text
    return text !== present
  }
}

/**
 * A text that is typed over a selection. Browsers would give it the colors of what it replaces, as inline styles, which the
 * content security policy refuses and complains about.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data: text, inputType, isComposing } = event
    const { from, to, empty } = view.state.selection.main
    if (inputType !== 'insertText' || text === null || isComposing || empty || view.state.readOnly)
      return false
    const insert = () =>
      view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true })
    const handlers = view.state.facet(EditorView.inputHandler)
    if (!handlers.some((handle) => handle(view, from, to, text, insert))) view.dispatch(insert())
    return true
  },
})

const basics = ({ label, mode, placeholder }: CoreOptions): Extension => [
  history(),
  bracketMatching(),
  closeBrackets(),
  typedOver,
  EditorView.lineWrapping,
  tooltips({ position: 'absolute' }),
  syntaxHighlighting(highlighting),
  theme,
  keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
  EditorView.contentAttributes.of({
    'aria-label': label,
    'aria-multiline': 'true',
    spellcheck: 'false',
    autocorrect: 'off',
    autocapitalize: 'off',
    'data-mode': mode,
    // A disabled one is reached by the keyboard, too: it may be longer than its field.
    tabindex: '0',
  }),
  placeholder === undefined ? [] : placeholderText(placeholder),
]

function diagnosticOf({ text: message, offset, length, place }: EditorFault, text: string): Diagnostic[] {
  const range = place === undefined ? undefined : rangeOfPlace(text, place)
  const from = Math.min(range?.from ?? offset ?? 0, text.length)
  if (range === undefined && offset === undefined) return []
  const to = Math.min(range?.to ?? from + (length ?? lengthAt(text, from)), text.length)
  return [{ from: from === to ? Math.max(0, from - 1) : from, to, severity: 'error', message }]
}

const kinds = { name: 'property', function: 'function', word: 'keyword' } as const

const completing = (vocabularyNow: () => Vocabulary | undefined, partAt: ExpressionAt): Extension =>
  autocompletion({
    icons: false,
    maxRenderedOptions: 60,
    override: [
      ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
        const [vocabulary, part] = [vocabularyNow(), partAt(state.doc.toString(), pos)]
        if (vocabulary === undefined || part === undefined) return null
        const { from: start, completions } = completionsAt(part.text, part.text.length, vocabulary)
        const from = part.from + start
        if (completions.length === 0 || (from === pos && !explicit && !isAfterSign(state, pos))) return null
        return {
          from,
          filter: false,
          options: completions.map(({ text, kind, detail, about }) => ({
            label: text,
            type: kinds[kind],
            detail,
            ...(about === '' ? {} : { info: about }),
          })),
        }
      },
    ],
  })

/** Behind these signs, completions are offered before anything of them is written. */
const isAfterSign = (state: EditorState, pos: number): boolean =>
  /[.|'"]/.test(state.sliceDoc(Math.max(0, pos - 1), pos))

const wordsOfExpressions = new Set(['in', 'true', 'false', 'null', 'undefined'])

/** Enough of the grammar to color it: what is right is decided by the API alone. */
const expressionLanguage = StreamLanguage.define({
  token(stream: StringStream): string | null {
    if (stream.eatSpace()) return null
    if (stream.match(/^(?:'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?)/)) return 'string'
    if (stream.match(/^\d+(?:\.\d+)?/)) return 'number'
    if (stream.match(/^[A-Za-z_]\w*(?=\s*\()/)) return 'function'
    const word = stream.match(/^[A-Za-z_][\w.]*?(?=\.[A-Za-z_]\w*\s*\(|[^\w.]|$)/)
    if (word && word !== true) return wordsOfExpressions.has(word[0]) ? 'keyword' : 'propertyName'
    if (stream.match(/^[&|=!<>?:+\-*/%^]+/)) return 'operator'
    stream.next()
    return null
  },
  tokenTable: { function: tags.function(tags.variableName) },
})

/** Enough of YAML to color it. */
const yamlLanguage = StreamLanguage.define({
  token(stream: StringStream): string | null {
    if (stream.eatSpace()) return null
    if (stream.match(/^#.*/)) return 'comment'
    if (stream.match(/^(?:'(?:''|[^'])*'?|"(?:\\.|[^"\\])*"?)(?=\s*:(?:\s|$))/)) return 'propertyName'
    if (stream.match(/^(?:'(?:''|[^'])*'?|"(?:\\.|[^"\\])*"?)/)) return 'string'
    if (stream.match(/^[\w./*-]+(?=\s*:(?:\s|$))/)) return 'propertyName'
    if (stream.match(/^(?:true|false|null|~|-?\d+(?:\.\d+)?)(?=\s*(?:[,\]}]|$))/)) return 'number'
    if (stream.match(/^[^\s,[\]{}:#'"]+/)) return null
    stream.next()
    return null
  },
})

const languages = { json, expression: () => expressionLanguage, yaml: () => yamlLanguage }

const highlighting = HighlightStyle.define([
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warning)' },
  { tag: tags.keyword, color: 'var(--second)', fontWeight: '600' },
  { tag: tags.function(tags.variableName), color: 'var(--second)' },
  { tag: tags.propertyName, color: 'var(--link)' },
  { tag: [tags.operator, tags.comment], color: 'var(--quiet)' },
])

/** The look of our fields; the properties of `style.css` reach into the shadow root. */
const theme = EditorView.theme({
  '&': {
    color: 'var(--text)',
    backgroundColor: 'var(--page)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    fontSize: '12px',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5', maxHeight: '60vh', overflow: 'auto' },
  '.cm-content': { padding: '3px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 8px' },
  '.cm-placeholder': { color: 'var(--quiet)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused .cm-matchingBracket, &.cm-focused .cm-nonmatchingBracket': {
    backgroundColor: 'var(--marked)',
    outline: 'none',
  },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textDecorationSkipInk: 'none',
  },
  '.cm-tooltip': {
    color: 'var(--text)',
    backgroundColor: 'var(--page)',
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    boxShadow: 'var(--shade)',
    zIndex: '7',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '220px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    color: 'var(--text)',
    backgroundColor: 'var(--chosen)',
  },
  '.cm-completionDetail': { color: 'var(--quiet)', fontStyle: 'normal', marginLeft: '1em' },
  '.cm-completionInfo': { padding: '4px 8px', maxWidth: '280px', fontFamily: 'system-ui, sans-serif' },
  '.cm-diagnostic': {
    padding: '4px 8px',
    borderLeftColor: 'var(--bad)',
    fontFamily: 'system-ui, sans-serif',
  },
})
