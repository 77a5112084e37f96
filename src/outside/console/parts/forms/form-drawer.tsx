/**
 * A form in a drawer: what the API says against it stands in the form, at fields by their `name`, and the form stays open.
 */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { Client } from '../../../../words/client/client.js'
import { isEditing } from '../../data/access/session.js'
import { api } from '../../data/asking/api.js'
import { notify } from '../../data/notices.js'
import { Drawer } from '../../kit/drawer.js'
import { EditButton } from '../edit-button.js'
import { FormFaults } from './form-faults.js'

interface FormDrawerProps {
  readonly title: string
  /** The text of the button. */
  readonly submit: string
  /** The notice once it is done. */
  readonly done: string
  readonly work: (client: Client) => Promise<unknown>
  /** `isDone`: it was done, not given up. */
  readonly onClose: (isDone: boolean) => void
  readonly isDisabled?: boolean
  readonly children: ComponentChildren
}

export function FormDrawer({ title, submit, done, work, onClose, isDisabled, children }: FormDrawerProps) {
  const fault = useSignal<unknown>(undefined)
  const send = async (): Promise<void> => {
    try {
      await work(api)
    } catch (error) {
      fault.value = error
      return
    }
    notify({ text: done, kind: 'good' })
    onClose(true)
  }
  return (
    <Drawer title={title} onClose={() => onClose(false)}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (isEditing.value && isDisabled !== true) void send()
        }}
      >
        <FormFaults error={fault.value}>{children}</FormFaults>
        {!isEditing.value && <p class="quiet">Nothing is changed while the console is read-only.</p>}
        <div class="actions">
          <button type="button" onClick={() => onClose(false)}>
            Cancel
          </button>
          <EditButton kind="main" onClick={send} isDisabled={isDisabled ?? false}>
            {submit}
          </EditButton>
        </div>
      </form>
    </Drawer>
  )
}
