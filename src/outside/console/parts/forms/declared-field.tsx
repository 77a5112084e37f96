/** A field of a declared form: how it is shown, what it begins with, and what of it is sent. */

import { Boxes } from '../../kit/forms/boxes.js'
import { ChoiceField, LinesField, SwitchField, TextField } from '../../kit/forms/fields.js'
import { ListChoice, PolicyChoice } from './policy-choice.js'

export type FieldValue = string | boolean | readonly string[]

/** By the names of fields. */
export type FormValues = Readonly<Record<string, FieldValue>>

export interface FormField {
  /** The member of the body, as the API has it. */
  readonly name: string
  readonly label: string
  /**
   * `list`: an entry in each line. `lines`: a text of several lines. `several`: some of `parts`, joined by commas, with
   * `choices` as usual selections. `policies` and `lists`: ids of IP policies or IP lists of the account.
   */
  readonly as: 'text' | 'lines' | 'list' | 'choice' | 'several' | 'switch' | 'policies' | 'lists'
  readonly parts?: readonly (readonly [value: string, about: string])[]
  readonly hint?: string
  /** May be left out. */
  readonly isOptional?: boolean
  readonly placeholder?: string
  readonly choices?: readonly (readonly [value: string, text: string])[]
  readonly initial?: string
  /** Of a field of several lines. */
  readonly rows?: number
}

interface DeclaredFieldProps {
  readonly field: FormField
  readonly value: FieldValue | undefined
  readonly onChange: (value: FieldValue) => void
}

export function DeclaredField({ field, value, onChange }: DeclaredFieldProps) {
  const { name, label, hint, isOptional, as } = field
  const common = { name, label, onChange, hint, isOptional }
  if (as === 'policies') return <PolicyChoice chosen={idsIn(value)} onChange={onChange} />
  if (as === 'lists') return <ListChoice chosen={idsIn(value)} onChange={onChange} />
  if (as === 'switch') return <SwitchField {...common} value={value === true} />
  const text = textIn(value)
  if (as === 'choice') return <ChoiceField {...common} value={text} choices={field.choices ?? []} />
  if (as === 'several') return <SeveralField {...{ field, text, onChange }} />
  if (as === 'text')
    return (
      <TextField {...common} value={text} {...(field.placeholder && { placeholder: field.placeholder })} />
    )
  return <LinesField {...common} value={text} rows={field.rows ?? (as === 'list' ? 3 : 6)} />
}

/** The value of a field of texts. */
export const textIn = (value: FieldValue | undefined): string => (typeof value === 'string' ? value : '')

/** The value of a field of ids. */
export const idsIn = (value: FieldValue | undefined): readonly string[] =>
  typeof value === 'object' ? value : []

interface SeveralFieldProps {
  readonly field: FormField
  readonly text: string
  readonly onChange: (text: string) => void
}

/** A usual selection, or parts that are ticked one by one. */
function SeveralField({
  field: { name, label, hint, choices = [], parts = [] },
  text,
  onChange,
}: SeveralFieldProps) {
  const isUsual = choices.some(([each]) => each === text)
  const order = parts.map(([part]) => part)
  return (
    <>
      <ChoiceField
        label={label}
        value={isUsual ? text : ''}
        choices={isUsual ? choices : [...choices, ['', 'chosen one by one']]}
        hint={hint}
        onChange={onChange}
      />
      <Boxes
        label={`${label}, one by one`}
        entries={parts.map(([id, about]) => ({ id, text: id.replaceAll('_', ' '), about }))}
        chosen={text.split(',').filter(Boolean)}
        name={name}
        onChange={(chosen) =>
          onChange(chosen.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)).join(','))
        }
      />
    </>
  )
}

/** Its value is ids of other resources. */
export const isOfIds = ({ as }: Pick<FormField, 'as'>): boolean => as === 'policies' || as === 'lists'

export function initialValue({ as, initial, choices }: FormField): FieldValue {
  if (initial !== undefined) return initial
  if (as === 'switch') return false
  return isOfIds({ as }) ? [] : (choices?.[0]?.[0] ?? '')
}

/** The value as the API takes it; empty: there is none. */
export function sentValue({ as }: FormField, value: FieldValue | undefined): FieldValue {
  if (isOfIds({ as })) return idsIn(value)
  if (as === 'switch') return value === true
  const text = textIn(value).trim()
  return as === 'list' ? entriesIn(text) : text
}

/** No entry of a list has a comma. */
const entriesIn = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
