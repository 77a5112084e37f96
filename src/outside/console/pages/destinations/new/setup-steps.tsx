/** The steps to do at the other side, next to the form, with the values that are filled in so far. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TargetSetupStep } from '../../../../../words/shape/delivery/target-setup.js'
import { api } from '../../../data/asking/api.js'
import { after } from '../../../data/clock.js'
import { CopyText } from '../../../kit/copy.js'
import { Failure } from '../../../parts/states.js'
import type { Value } from '../target-members.js'

interface SetupProps {
  readonly kind: string
  readonly target: Value
  readonly form: string
  /** Of a table that is made for it. */
  readonly eventKind?: string | undefined
}

/** A pause in typing. */
const pauseMs = 300

export function SetupSteps({ kind, target, form, eventKind }: SetupProps) {
  const steps = useSignal<readonly TargetSetupStep[] | undefined>(undefined)
  const fault = useSignal<unknown>(undefined)
  const text = JSON.stringify([kind, target, form, eventKind])
  useEffect(() => {
    let isCurrent = true
    const ask = async (): Promise<void> => {
      const request = { target: { [kind]: target }, form, ...(eventKind && { event_kind: eventKind }) }
      const next = await api.targets.setup(request).then(
        (found) => ({ steps: found.steps, fault: undefined }),
        (error: unknown) => ({ steps: steps.peek(), fault: error }),
      )
      if (!isCurrent) return
      steps.value = next.steps
      fault.value = next.fault
    }
    const timer = after(steps.peek() === undefined ? 0 : pauseMs, () => void ask())
    return () => {
      isCurrent = false
      timer.stop()
    }
  }, [text])
  return (
    <section class="panel stack" aria-label="At the other side">
      <h2>At the other side</h2>
      {fault.value !== undefined && <Failure error={fault.value} />}
      <ol class="stack numbered">
        {steps.value?.map((step) => (
          <li key={step.text}>
            <p>
              {step.text}{' '}
              {step.link && (
                <a href={step.link.url} target="_blank" rel="noreferrer">
                  {step.link.text}
                </a>
              )}
            </p>
            {step.copy && <CopyText what={step.copy.what} text={step.copy.text} />}
          </li>
        ))}
      </ol>
    </section>
  )
}
