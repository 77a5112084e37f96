/** A form that sends a request of an operation, and shows what is answered. The key is kept in the open page alone. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { messageOf } from '../../ground/core/errors.js'
import { consoleHeaders } from '../console/data/access/headers.js'
import { monotonicMs } from '../console/data/clock.js'
import { bytes } from '../console/data/texts/format.js'
import { ChoiceField, LinesField, SecretField, TextField } from '../console/kit/forms/fields.js'
import type { Operation, Parameter, Reference } from './document.js'
import {
  exampleBody,
  exampleRequest,
  hasBody,
  headersOf,
  keyOf,
  type RequestDraft,
  urlOf,
} from './request.js'
import { root, token } from './state.js'

interface TryItProps {
  readonly reference: Reference
  readonly operation: Operation
}

/** More is cut: a page is no place for it. */
const shownCharsMax = 200_000

interface Exchange {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly text: string
  readonly isWhole: boolean
  readonly ms: number
}

export function TryIt({ reference, operation }: TryItProps) {
  const draft = useSignal<RequestDraft>(exampleRequest(reference, operation))
  const answer = useSignal<Exchange | undefined>(undefined)
  const fault = useSignal('')
  const stop = useRef<AbortController | undefined>(undefined)
  const isBusy = useSignal(false)
  useEffect(() => () => stop.current?.abort(), [])
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const stopping = new AbortController()
    stop.current = stopping
    isBusy.value = true
    fault.value = ''
    answer.value = undefined
    try {
      await exchange(operation, draft.value, stopping.signal, (found) => {
        answer.value = found
      })
    } catch (error) {
      if (!stopping.signal.aborted) fault.value = `The request failed: ${messageOf(error)}.`
    }
    isBusy.value = false
  }
  return (
    <form class="panel stack" aria-label={`Try: ${operation.title}`} onSubmit={(event) => void send(event)}>
      <SecretField
        label="API key"
        isStored={false}
        value={token.value}
        hint="Kept until this page is closed. Without one, the request is sent with the session of the console, if there is one."
        onChange={(text) => {
          token.value = text
        }}
      />
      <Parameters
        parameters={operation.parameters}
        values={draft.value.parameters}
        onChange={(parameters) => {
          draft.value = { ...draft.value, parameters }
        }}
      />
      <Body
        reference={reference}
        operation={operation}
        draft={draft.value}
        onChange={(next) => (draft.value = next)}
      />
      <div class="row">
        <button type="submit" class="main" disabled={isBusy.value} aria-busy={isBusy.value}>
          Send
        </button>
        {isBusy.value && (
          <button type="button" onClick={() => stop.current?.abort()}>
            Stop
          </button>
        )}
        <code>
          {operation.method} {urlOf(root, operation, draft.value)}
        </code>
      </div>
      {fault.value !== '' && (
        <p class="fault" role="alert">
          {fault.value}
        </p>
      )}
      {answer.value && <Answered answer={answer.value} />}
    </form>
  )
}

interface ParametersProps {
  readonly parameters: readonly Parameter[]
  readonly values: RequestDraft['parameters']
  readonly onChange: (values: RequestDraft['parameters']) => void
}

const Parameters = ({ parameters, values, onChange }: ParametersProps) => (
  <>
    {parameters.map((each) => (
      <TextField
        key={keyOf(each)}
        label={`${each.name} (${each.in}${each.required ? ', required' : ''})`}
        value={values[keyOf(each)] ?? ''}
        onChange={(text) => onChange({ ...values, [keyOf(each)]: text })}
      />
    ))}
  </>
)

interface BodyProps extends TryItProps {
  readonly draft: RequestDraft
  readonly onChange: (draft: RequestDraft) => void
}

function Body({ reference, operation, draft, onChange }: BodyProps) {
  const contents = operation.requestBody?.content ?? {}
  const types = Object.keys(contents)
  if (types.length === 0) return null
  return (
    <>
      {types.length > 1 && (
        <ChoiceField
          label="Type of the body"
          value={draft.contentType}
          choices={types.map((type) => [type, type] as const)}
          onChange={(contentType) =>
            onChange({
              ...draft,
              contentType,
              body: exampleBody(reference, contentType, contents[contentType] ?? {}),
            })
          }
        />
      )}
      <LinesField
        label="Body"
        value={draft.body}
        hint="Empty: none is sent."
        onChange={(body) => onChange({ ...draft, body })}
      />
    </>
  )
}

const Answered = ({
  answer: { status, statusText, headers, text, isWhole, ms },
}: {
  readonly answer: Exchange
}) => {
  const id = useId()
  return (
    <section class="stack" aria-labelledby={id} data-answer>
      <p id={id} role="status">
        <strong class={status < 400 ? 'word good' : 'word bad'}>
          {status} {statusText}
        </strong>{' '}
        <span class="quiet">
          {Math.round(ms)} ms, {bytes(text.length)}
        </span>
      </p>
      <details>
        <summary>Headers</summary>
        <pre>{headers.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      </details>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section class="answer-body" tabIndex={0} aria-label="Body of the answer">
        <pre>{text}</pre>
      </section>
      {!isWhole && <p class="quiet">There is more than is shown here.</p>}
    </section>
  )
}

/** Sends it to where the page is from; says more and more of an answer while it comes, because some never end. */
async function exchange(
  operation: Operation,
  draft: RequestDraft,
  signal: AbortSignal,
  show: (found: Exchange) => void,
): Promise<void> {
  const begun = monotonicMs()
  const key = token.value.trim()
  const response = await fetch(urlOf(root, operation, draft), {
    method: operation.method,
    headers: {
      ...headersOf(operation, draft),
      ...(key === '' ? consoleHeaders : { Authorization: `Bearer ${key}` }),
    },
    credentials: key === '' ? 'same-origin' : 'omit',
    cache: 'no-store',
    redirect: 'error',
    signal,
    ...(hasBody(draft) && { body: draft.body }),
  })
  const shown = (text: string, isWhole: boolean): void =>
    show({
      status: response.status,
      statusText: response.statusText,
      headers: [...response.headers],
      text: isWhole ? readable(text, response.headers.get('content-type') ?? '') : text,
      isWhole,
      ms: monotonicMs() - begun,
    })
  let text = ''
  shown(text, true)
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true }
    if (done) break
    text += decoder.decode(value, { stream: true })
    shown(text.slice(0, shownCharsMax), false)
    if (text.length < shownCharsMax) continue
    await reader?.cancel()
    return
  }
  shown(text + decoder.decode(), true)
}

/** JSON with its lines, everything else as it is. */
function readable(text: string, type: string): string {
  if (!/^application\/(\w+\+)?json\b/.test(type)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
