/**
 * The faults that the API found in a form. Each field within says by `name` which member of the body it is for: faults of
 * that member stand at the field, and all others below the fields.
 */
import { computed, type ReadonlySignal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { faultsOf } from '../../data/drafts/refused-places.js'
import { type PlacedFaults, placedFaults } from '../../data/texts/placed-faults.js'
import { FormContext } from '../../kit/forms/field-faults.js'
import { Failure } from '../states.js'

interface FormFaultsProps {
  /** The API's error; undefined: none. */
  readonly error: unknown
  readonly children: ComponentChildren
}

export function FormFaults({ error, children }: FormFaultsProps) {
  const fields = useSignal<readonly string[]>([])
  const form = useMemo(() => {
    const faults = faultsOf(error)
    return { fields, placed: computed(() => placedFaults(faults, fields.value)) }
  }, [error, fields])
  return (
    <FormContext.Provider value={form}>
      {children}
      {error !== undefined && <OtherFaults error={error} placed={form.placed} />}
    </FormContext.Provider>
  )
}

interface OtherFaultsProps {
  readonly error: unknown
  readonly placed: ReadonlySignal<PlacedFaults>
}

function OtherFaults({ error, placed }: OtherFaultsProps) {
  const { at, others } = placed.value
  // The whole message may say more than a sentence for each place.
  if (at.size === 0) return <Failure error={error} />
  if (others.length === 0) return null
  return (
    <div class="failure" role="alert">
      {others.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  )
}
