/** An operation, or an event: all that the document says about it, a sample of a request, and a form that sends one. */
import { useSignal } from '@preact/signals'
import { CopyText } from '../console/kit/copy.js'
import type { Answer, Contents, Operation, Parameter, Reference, Schema } from './document.js'
import { Markdown, MarkdownLine } from './markdown.js'
import { Method } from './menu.js'
import { exampleRequest, sampleOf } from './request.js'
import { SchemaView, TypeOf } from './schema-view.js'
import { hrefOf, root } from './state.js'
import { TryIt } from './try-it.js'

interface OperationProps {
  readonly reference: Reference
  readonly operation: Operation
}

export function OperationView({ reference, operation }: OperationProps) {
  const { anchor, method, path, title, description, isEvent, operationId } = operation
  const isTried = useSignal(false)
  return (
    <section id={anchor} class="operation stack" aria-labelledby={`${anchor}/title`}>
      <div class="row apart">
        <h2 id={`${anchor}/title`} tabIndex={-1}>
          {title}
        </h2>
        <a href={hrefOf(anchor)} aria-label={`Link to ${title}`} title="Link to this">
          #
        </a>
      </div>
      {!isEvent && (
        <p class="row">
          <Method method={method} /> <code>{path}</code>{' '}
          {operationId !== undefined && <span class="quiet">{operationId}</span>}
        </p>
      )}
      {description !== undefined && <Markdown text={description} />}
      {!isEvent && <Security reference={reference} operation={operation} />}
      {operation.parameters.length > 0 && (
        <Parameters reference={reference} parameters={operation.parameters} />
      )}
      {operation.requestBody !== undefined && (
        <section class="stack" aria-label={isEvent ? 'The event' : 'Body'}>
          <h3>
            {isEvent ? 'The event' : 'Body'}{' '}
            <span class="quiet">
              {!isEvent && (operation.requestBody.required ? 'required' : 'optional')}
            </span>
          </h3>
          <Bodies reference={reference} contents={operation.requestBody.content} />
        </section>
      )}
      {!isEvent && (
        <>
          <h3>A request</h3>
          <CopyText
            what="the request"
            text={sampleOf(root, operation, exampleRequest(reference, operation))}
          />
          <div class="row">
            <button
              type="button"
              class="main"
              aria-expanded={isTried.value}
              onClick={() => (isTried.value = !isTried.value)}
            >
              Try it
            </button>
          </div>
          {isTried.value && <TryIt reference={reference} operation={operation} />}
        </>
      )}
      <Answers reference={reference} operation={operation} />
    </section>
  )
}

/** Which key it needs. */
function Security({ reference, operation: { security } }: OperationProps) {
  const schemes = reference.document.components.securitySchemes ?? {}
  if (security.length === 0) return <p class="quiet">It needs no key.</p>
  return (
    <ul class="quiet" aria-label="Security">
      {security.flatMap((each) =>
        Object.entries(each).map(([name, rights]) => (
          <li key={name}>
            <strong>{name}</strong>
            {rights.length > 0 && `, right ${rights.join(', ')}`}: {schemes[name]?.description ?? ''}
          </li>
        )),
      )}
    </ul>
  )
}

interface ParametersProps {
  readonly reference: Reference
  readonly parameters: readonly Parameter[]
}

const Parameters = ({ reference, parameters }: ParametersProps) => (
  <section class="stack" aria-label="Parameters">
    <h3>Parameters</h3>
    <ul class="members-of">
      {parameters.map(({ name, in: place, required, description, schema = {}, example }) => (
        <li key={`${place} ${name}`}>
          <code>{name}</code> <span class="quiet">in {place}</span>{' '}
          {required && <span class="word warning">required</span>}
          {description !== undefined && (
            <p>
              <MarkdownLine text={description} />
            </p>
          )}
          <SchemaView reference={reference} schema={schema} />
          {example !== undefined && (
            <p class="quiet">
              example: <code>{String(example)}</code>
            </p>
          )}
        </li>
      ))}
    </ul>
  </section>
)

interface BodiesProps {
  readonly reference: Reference
  readonly contents: Contents
}

/** A schema and an example for each type of content. */
const Bodies = ({ reference, contents }: BodiesProps) => (
  <>
    {Object.entries(contents).map(([type, { schema = {}, example }]) => (
      <div key={type} class="stack">
        <p class="quiet">{type}</p>
        <SchemaView reference={reference} schema={schema} />
        {examplesOf(reference, schema, example).map((text, index) => (
          <details key={index}>
            <summary>Example</summary>
            <CopyText what="the example" text={text} />
          </details>
        ))}
      </div>
    ))}
  </>
)

/** Those that the document has, or one that is put together. */
function examplesOf(reference: Reference, schema: Schema, given: unknown): readonly string[] {
  const { examples = [] } = reference.schemaOf(schema)
  const found = given !== undefined ? [given] : examples.length > 0 ? examples : [reference.exampleOf(schema)]
  return found
    .map((each) => (typeof each === 'string' ? each : (JSON.stringify(each, null, 2) ?? '')))
    .filter((text) => text !== '')
}

const Answers = ({ reference, operation: { responses } }: OperationProps) => (
  <section class="stack" aria-label="Answers">
    <h3>Answers</h3>
    <ul class="members-of">
      {Object.entries(responses).map(([status, answer]) => (
        <AnswerOf key={status} reference={reference} status={status} answer={answer} />
      ))}
    </ul>
  </section>
)

interface AnswerProps {
  readonly reference: Reference
  readonly status: string
  readonly answer: Answer
}

/** Its content is drawn when it is opened: most are problems, which are all alike. */
function AnswerOf({
  reference,
  status,
  answer: { description = '', headers = {}, content = {} },
}: AnswerProps) {
  const isOpen = useSignal(false)
  const line = (
    <>
      <strong class={status.startsWith('2') ? 'word good' : 'word bad'}>{status}</strong>{' '}
      <MarkdownLine text={description} />
    </>
  )
  if (Object.keys(content).length + Object.keys(headers).length === 0) return <li>{line}</li>
  return (
    <li>
      <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
        <summary>{line}</summary>
        {isOpen.value && (
          <div class="stack">
            {Object.entries(headers).map(([name, { description: about = '', schema = {} }]) => (
              <p key={name}>
                <code>{name}</code> <TypeOf schema={schema} /> <MarkdownLine text={about} />
              </p>
            ))}
            <Bodies reference={reference} contents={content} />
          </div>
        )}
      </details>
    </li>
  )
}
