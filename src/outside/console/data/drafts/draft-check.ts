/** Asks the API what is wrong with a draft, while it is written. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Client } from '../../../../words/client/client.js'
import { api } from '../asking/api.js'
import { after } from '../clock.js'

/** A pause in typing. */
const pauseMs = 400

interface DraftCheck {
  readonly isChecking: boolean
  /** Undefined: nothing is wrong, as far as it is known. */
  readonly error: unknown
}

/**
 * `body`: checked again whenever its text changes, unless it is that of `unchanged`, by default the first one; `check`: a
 * write with `validateOnly`.
 */
export function useDraftCheck(
  body: unknown,
  check: (client: Client) => Promise<unknown>,
  unchanged?: unknown,
): DraftCheck {
  const found = useSignal<DraftCheck>({ isChecking: false, error: undefined })
  const text = JSON.stringify(body)
  const first = useRef(text)
  const unchangedText = unchanged === undefined ? first.current : JSON.stringify(unchanged)
  useEffect(() => {
    if (text === unchangedText) {
      found.value = { isChecking: false, error: undefined }
      return
    }
    let isCurrent = true
    found.value = { ...found.peek(), isChecking: true }
    const timer = after(pauseMs, () => {
      const show = (error: unknown): void => {
        if (isCurrent) found.value = { isChecking: false, error }
      }
      void check(api).then(() => show(undefined), show)
    })
    return () => {
      isCurrent = false
      timer.stop()
    }
  }, [text, unchangedText])
  return found.value
}
