/** A form that creates or changes a resource. What the API says about a field stands at it. */
import { useSignal } from '@preact/signals'
import type { Right } from '../../data/access/session.js'
import { errorText } from '../../data/asking/api.js'
import { Boxes } from '../boxes.js'
import { Button, EditButton } from '../button.js'
import { Failure } from '../states.js'
import { ChoiceField, LinesField, TextField } from './fields.js'

export interface FormField {
  /** As the API has it. */
  readonly name: string
  readonly label: string
  /**
   * `list`: an entry in each line. `lines`: a text of several lines. `several`: some of `parts`, joined by commas, with
   * `choices` as usual selections.
   */
  readonly as: 'text' | 'lines' | 'list' | 'choice' | 'several'
  readonly parts?: readonly (readonly [value: string, about: string])[]
  readonly hint?: string
  readonly placeholder?: string
  readonly choices?: readonly (readonly [value: string, text: string])[]
  readonly initial?: string
}

type FormValues = Readonly<Record<string, string>>

interface ResourceFormProps {
  /** What is made, such as `Create an API key`. */
  readonly title: string
  readonly fields: readonly FormField[]
  readonly right?: Right
  readonly submit: string
  /** Sends it; throws what the API said. */
  readonly send: (body: Readonly<Record<string, unknown>>) => Promise<unknown>
  readonly onClose: () => void
}

export function ResourceForm({ title, fields, right = 'write', submit, send, onClose }: ResourceFormProps) {
  const values = useSignal<FormValues>(initialValues(fields))
  const fault = useSignal<unknown>(undefined)
  const place = placeOf(fault.value, fields)
  const press = async (): Promise<void> => {
    fault.value = undefined
    try {
      await send(bodyOf(fields, values.value))
    } catch (error) {
      fault.value = error
    }
  }
  return (
    <form class="stack panel" aria-label={title} onSubmit={(event) => event.preventDefault()}>
      <h2>{title}</h2>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values.value[field.name] ?? ''}
          fault={place === field.name ? errorText(fault.value) : undefined}
          onChange={(value) => {
            values.value = { ...values.value, [field.name]: value }
          }}
        />
      ))}
      {fault.value !== undefined && place === undefined && <Failure error={fault.value} />}
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <EditButton kind="main" right={right} onClick={press}>
          {submit}
        </EditButton>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly field: FormField
  readonly value: string
  readonly fault: string | undefined
  readonly onChange: (value: string) => void
}

function Field({ field, value, fault, onChange }: FieldProps) {
  const common = { label: field.label, value, fault, onChange, hint: field.hint }
  if (field.as === 'choice') return <ChoiceField {...common} choices={field.choices ?? []} />
  if (field.as === 'several') return <SeveralField {...{ field, value, fault, onChange }} />
  if (field.as === 'text')
    return <TextField {...common} {...(field.placeholder && { placeholder: field.placeholder })} />
  return <LinesField {...common} rows={field.as === 'list' ? 3 : 6} />
}

/** A usual selection, or parts that are ticked one by one. */
function SeveralField({
  field: { label, hint, choices = [], parts = [] },
  value,
  fault,
  onChange,
}: FieldProps) {
  const isUsual = choices.some(([each]) => each === value)
  const order = parts.map(([part]) => part)
  return (
    <>
      <ChoiceField
        label={label}
        value={isUsual ? value : ''}
        choices={isUsual ? choices : [...choices, ['', 'chosen one by one']]}
        hint={hint}
        onChange={onChange}
      />
      <Boxes
        label={`${label}, one by one`}
        entries={parts.map(([id, about]) => ({ id, text: id.replaceAll('_', ' '), about }))}
        chosen={value.split(',').filter(Boolean)}
        fault={fault}
        onChange={(chosen) =>
          onChange(chosen.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)).join(','))
        }
      />
    </>
  )
}

const initialValues = (fields: readonly FormField[]): FormValues =>
  Object.fromEntries(
    fields.map(({ name, initial, choices }) => [name, initial ?? choices?.[0]?.[0] ?? ''] as const),
  )

/** Fields without a value are left out. */
const bodyOf = (fields: readonly FormField[], values: FormValues): Record<string, unknown> =>
  Object.fromEntries(
    fields.flatMap(({ name, as }) => {
      const value = (values[name] ?? '').trim()
      if (value === '') return []
      return [[name, as === 'list' ? entriesIn(value) : value]]
    }),
  )

const entriesIn = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** Messages of the API begin with the name of the field: `"acl[0]" is …`. */
function placeOf(error: unknown, fields: readonly FormField[]): string | undefined {
  if (error === undefined) return undefined
  const name = /^"([a-z_]+)/.exec(errorText(error))?.[1]
  return fields.find((field) => field.name === name)?.name
}
