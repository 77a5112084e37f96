/** A button, with a question before what can't be undone. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export interface ButtonProps {
  readonly onClick: () => unknown
  readonly children: ComponentChildren
  readonly kind?: 'plain' | 'main' | 'danger'
  readonly isDisabled?: boolean
  readonly title?: string
  /** A question to answer before it is done: what can't be undone. */
  readonly confirm?: string
}

/** It can't be pressed again while what it began goes on. */
export function Button({
  onClick,
  children,
  kind = 'plain',
  isDisabled = false,
  title,
  confirm,
}: ButtonProps) {
  const isBusy = useSignal(false)
  const isAsking = useSignal(false)
  const work = async (): Promise<void> => {
    isBusy.value = true
    try {
      await onClick()
    } finally {
      isBusy.value = false
    }
  }
  const press = (): void => {
    if (confirm === undefined) void work()
    else isAsking.value = true
  }
  return (
    <>
      <button
        type="button"
        class={kind}
        disabled={isDisabled || isBusy.value}
        aria-busy={isBusy.value}
        title={title}
        onClick={press}
      >
        {children}
      </button>
      {isAsking.value && (
        <Question
          text={confirm ?? ''}
          yes={children}
          onAnswer={(isYes) => {
            isAsking.value = false
            if (isYes) void work()
          }}
        />
      )}
    </>
  )
}

interface QuestionProps {
  readonly text: string
  readonly yes: ComponentChildren
  readonly onAnswer: (isYes: boolean) => void
}

function Question({ text, yes, onAnswer }: QuestionProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="question" onClose={() => onAnswer(false)} aria-label="Are you sure?">
      <p>{text}</p>
      <div class="actions">
        <button type="button" onClick={() => onAnswer(false)}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={() => onAnswer(true)}>
          {yes}
        </button>
      </div>
    </dialog>
  )
}
