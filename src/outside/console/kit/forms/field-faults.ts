/** How a field learns of the faults at its member of the body: from the form around it, if there is one. */
import type { ReadonlySignal, Signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext, useLayoutEffect } from 'preact/hooks'
import type { PlacedFaults } from '../../data/texts/placed-faults.js'

interface Form {
  /** Names of the fields that are shown now. */
  readonly fields: Signal<readonly string[]>
  readonly placed: ReadonlySignal<PlacedFaults>
}

export const FormContext = createContext<Form | undefined>(undefined)

/** The fault of the member of this name. While the field is shown, the form leaves the fault to it. */
export function useFaultAt(name: string | undefined): string | undefined {
  const form = useContext(FormContext)
  const fields = form?.fields
  useLayoutEffect(() => {
    if (fields === undefined || name === undefined) return
    fields.value = [...fields.peek(), name]
    return () => {
      fields.value = fields.peek().toSpliced(fields.peek().indexOf(name), 1)
    }
  }, [fields, name])
  return name === undefined ? undefined : form?.placed.value.at.get(name)
}
