/** A schema as a list of its members; what is in a member is shown when it is opened. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { nameIn, type Reference, type Schema, schemaAnchor, typesOf } from './document.js'
import { MarkdownLine } from './markdown.js'
import { hrefOf } from './state.js'

interface SchemaProps {
  readonly reference: Reference
  readonly schema: Schema
}

/** The type, bounds and description of a value, with its members, if it has some. */
export const SchemaView = ({ reference, schema }: SchemaProps) => (
  <div class="schema">
    <p>
      <TypeOf schema={schema} /> <Bounds schema={reference.essentialOf(schema)} />
    </p>
    <About description={schema.description ?? reference.essentialOf(schema).description} />
    <Parts reference={reference} schema={schema} />
  </div>
)

const About = ({ description }: { readonly description: string | undefined }) =>
  description === undefined ? null : (
    <p>
      <MarkdownLine text={description} />
    </p>
  )

/** The parts of a value: the members of an object, the entries of a list, the forms that it may have. */
function Parts({ reference, schema }: SchemaProps) {
  const {
    properties,
    required = [],
    items,
    additionalProperties,
    propertyNames,
    ...rest
  } = reference.schemaOf(schema)
  const forms = formsOf(rest)
  return (
    <>
      {properties !== undefined && (
        <ul class="members-of" aria-label="Members">
          {Object.entries(properties).map(([name, each]) => (
            <Member
              key={name}
              reference={reference}
              name={name}
              schema={each}
              isRequired={required.includes(name)}
            />
          ))}
        </ul>
      )}
      {typeof additionalProperties === 'object' && (
        <ul class="members-of" aria-label="Other members">
          {propertyNames !== undefined && (
            <li class="quiet">
              names: <Bounds schema={reference.schemaOf(propertyNames)} />
            </li>
          )}
          <Member reference={reference} name="any name" schema={additionalProperties} isRequired={false} />
        </ul>
      )}
      {items !== undefined && (
        <ul class="members-of" aria-label="Entries">
          <Member reference={reference} name="each entry" schema={items} isRequired={false} />
        </ul>
      )}
      {forms.length > 1 && (
        <ul class="members-of" aria-label="Forms">
          {forms.map((each, index) => (
            <Member
              key={index}
              reference={reference}
              name={`form ${index + 1}`}
              schema={each}
              isRequired={false}
            />
          ))}
        </ul>
      )}
      {forms.length === 1 && forms[0] !== undefined && <Parts reference={reference} schema={forms[0]} />}
    </>
  )
}

/** Without null, which the type says. */
const formsOf = ({ anyOf = [], oneOf = [], allOf = [] }: Schema): readonly Schema[] =>
  [...anyOf, ...oneOf, ...allOf].filter(({ type }) => type !== 'null')

interface MemberProps extends SchemaProps {
  readonly name: string
  readonly isRequired: boolean
}

function Member({ reference, name, schema, isRequired }: MemberProps) {
  const isOpen = useSignal(false)
  const found = reference.essentialOf(schema)
  const isOpened = hasParts(reference, schema)
  const line = (
    <>
      <code>{name}</code> <TypeOf schema={schema} isPlain={isOpened} />{' '}
      {isRequired && <span class="word warning">required</span>} <Bounds schema={found} />
    </>
  )
  return (
    <li>
      {isOpened ? (
        <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
          <summary>{line}</summary>
          {isOpen.value && (
            <>
              <p>
                <TypeOf schema={schema} />
              </p>
              <Parts reference={reference} schema={schema} />
            </>
          )}
        </details>
      ) : (
        <p>{line}</p>
      )}
      <About description={schema.description ?? found.description} />
    </li>
  )
}

function hasParts(reference: Reference, schema: Schema): boolean {
  const found = reference.schemaOf(schema)
  const { properties, items, additionalProperties } = found
  const [first, ...others] = formsOf(found)
  return (
    properties !== undefined ||
    typeof additionalProperties === 'object' ||
    others.length > 0 ||
    (items !== undefined &&
      (hasParts(reference, items) || reference.schemaOf(items).description !== undefined)) ||
    (first !== undefined && hasParts(reference, first))
  )
}

interface TypeProps {
  readonly schema: Schema
  /** Without links: what can be pressed must not be in what can be pressed. */
  readonly isPlain?: boolean
}

/** The type in words; a schema with a name is a link. */
export function TypeOf({ schema, isPlain = false }: TypeProps): ComponentChildren {
  if (schema.$ref !== undefined) {
    const name = nameIn(schema.$ref)
    return isPlain ? <span class="quiet">{name}</span> : <a href={hrefOf(schemaAnchor(name))}>{name}</a>
  }
  const forms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]
  if (forms.length > 0)
    return forms.map((form, index) => (
      <>
        {index > 0 && ' or '}
        <TypeOf schema={form} isPlain={isPlain} />
      </>
    ))
  const types = typesOf(schema)
  if (types.includes('array') && schema.items !== undefined)
    return (
      <span class="quiet">
        list of <TypeOf schema={schema.items} isPlain={isPlain} />
      </span>
    )
  if (types.length === 0 && schema.const !== undefined) return <code>{JSON.stringify(schema.const)}</code>
  return <span class="quiet">{types.join(' or ') || 'any value'}</span>
}

/** They say what a value is made of, and are shown as that. */
const shownElsewhere = new Set([
  '$ref',
  ...['type', 'title', 'description', 'properties', 'required', 'items', 'anyOf', 'oneOf', 'allOf'],
  'propertyNames',
])

const keywords: Readonly<Record<string, string>> = {
  additionalProperties: 'other members',
  'x-max-bytes': 'at most bytes',
  'x-unit': 'unit',
  'x-secret': 'secret',
  enum: 'one of',
  examples: 'for example',
}

/** Every other keyword with its value, such as the longest length. */
function Bounds({ schema }: { readonly schema: Schema }) {
  const given = Object.entries(schema).filter(
    ([name, value]) =>
      !shownElsewhere.has(name) &&
      !(name === 'additionalProperties' && typeof value === 'object') &&
      !(name === 'examples' && (value as unknown[]).some((each) => typeof each === 'object')),
  )
  return (
    <>
      {given.map(([name, value]) => (
        <span key={name} class="bound">
          {keywords[name] ?? name}:{' '}
          {Array.isArray(value) ? (
            value.map((each, index) => (
              <>
                {index > 0 && ', '}
                <code>{textOf(each)}</code>
              </>
            ))
          ) : (
            <code>
              {name === 'additionalProperties' ? (value === true ? 'allowed' : 'refused') : textOf(value)}
            </code>
          )}
        </span>
      ))}
    </>
  )
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
