/**
 * A form that is declared: its fields in their order, each with the member of the body that it is for. It stands on the page
 * or in a drawer; what the API says about a field stands at it.
 */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Client } from '../../../../words/client/client.js'
import type { Right } from '../../data/access/session.js'
import { api } from '../../data/asking/api.js'
import { Button } from '../../kit/button.js'
import { EditButton } from '../edit-button.js'
import {
  DeclaredField,
  type FieldValue,
  type FormField,
  type FormValues,
  initialValue,
  isOfIds,
  sentValue,
} from './declared-field.js'
import { FormDrawer } from './form-drawer.js'
import { FormFaults } from './form-faults.js'

/** The body of the request: the values of fields by their names. */
export type FormBody = Readonly<Record<string, unknown>>

export interface FormLook {
  /** The action of the form, such as `Create an API key`. */
  readonly title: string
  /** The text of its button. */
  readonly submit: string
  readonly right?: Right
  /** Says that it was done. A form without it stands on the page, and what it made is shown; one with it is in a drawer. */
  readonly done?: string
  /** It can be sent. Unless it says so, it always can, and the API says what is missing. */
  readonly isReady?: (values: FormValues) => boolean
  /** Below the fields. */
  readonly below?: (values: FormValues) => ComponentChildren
}

interface DeclaredFormProps {
  readonly look: FormLook
  readonly fields: readonly FormField[]
  /** The values before the change, by the names of fields; undefined: something new is made. */
  readonly present?: FormValues | undefined
  /** Sends it; throws what the API said. */
  readonly send: (client: Client, body: FormBody) => Promise<unknown>
  /** `isDone`: it was done, not given up. */
  readonly onClose: (isDone: boolean) => void
}

export function DeclaredForm({ look, fields, present, send, onClose }: DeclaredFormProps) {
  const values = useFormValues(fields, present)
  const content = (
    <>
      <DeclaredFields fields={fields} values={values} />
      {look.below?.(values.value)}
    </>
  )
  const work = (client: Client): Promise<unknown> =>
    send(client, present === undefined ? newBody(fields, values.value) : changesOf(fields, values.value))
  const { title, submit, done, isReady = () => true } = look
  if (done === undefined) return <FormPanel {...{ look, work, onClose }}>{content}</FormPanel>
  return (
    <FormDrawer {...{ title, submit, done, work, onClose }} isDisabled={!isReady(values.value)}>
      {content}
    </FormDrawer>
  )
}

interface FormPanelProps extends Pick<DeclaredFormProps, 'look' | 'onClose'> {
  readonly work: (client: Client) => Promise<unknown>
  readonly children: ComponentChildren
}

function FormPanel({ look: { title, submit, right = 'write' }, work, onClose, children }: FormPanelProps) {
  const fault = useSignal<unknown>(undefined)
  const press = async (): Promise<void> => {
    fault.value = undefined
    try {
      await work(api)
    } catch (error) {
      fault.value = error
      return
    }
    onClose(true)
  }
  return (
    <form class="stack panel" aria-label={title} onSubmit={(event) => event.preventDefault()}>
      <h2>{title}</h2>
      <FormFaults error={fault.value}>{children}</FormFaults>
      <div class="actions">
        <Button onClick={() => onClose(false)}>Cancel</Button>
        <EditButton kind="main" right={right} onClick={press}>
          {submit}
        </EditButton>
      </div>
    </form>
  )
}

/** The values that are typed so far; `present`: values that the fields begin with, in place of their own. */
export const useFormValues = (fields: readonly FormField[], present?: FormValues) =>
  useSignal<FormValues>({ ...initialValues(fields), ...present })

interface DeclaredFieldsProps {
  readonly fields: readonly FormField[]
  readonly values: { value: FormValues }
}

export const DeclaredFields = ({ fields, values }: DeclaredFieldsProps) => (
  <>
    {fields.map((field) => (
      <DeclaredField
        key={field.name}
        field={field}
        value={values.value[field.name]}
        onChange={(value) => {
          values.value = { ...values.value, [field.name]: value }
        }}
      />
    ))}
  </>
)

const initialValues = (fields: readonly FormField[]): FormValues =>
  Object.fromEntries(fields.map((field) => [field.name, initialValue(field)] as const))

/** The body that makes something: fields without a value are left out. */
const newBody = (fields: readonly FormField[], values: FormValues): FormBody =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const value = sentValue(field, values[field.name])
      return isEmpty(value) ? [] : [[field.name, value]]
    }),
  )

/** The body that changes something: a member that is left out would stay as it is. */
const changesOf = (fields: readonly FormField[], values: FormValues): FormBody =>
  Object.fromEntries(
    fields.map((field) => {
      const value = sentValue(field, values[field.name])
      // An empty list of ids says nothing about what was chosen before.
      return [field.name, isOfIds(field) && isEmpty(value) ? null : value]
    }),
  )

const isEmpty = (value: FieldValue): boolean => typeof value !== 'boolean' && value.length === 0
