/** A text that is typed, which survives a reload until what it is for is done. It must not have secrets. */
import { useSignal } from '@preact/signals'
import { keepText } from './tab-storage.js'

export interface KeptText {
  value: string
  /** It begins again. */
  forget(): void
}

/** `initial` is not stored, so that another one shows if nothing else is typed. */
export function useKeptText(key: string, initial = ''): KeptText {
  const shown = useSignal(sessionStorage.getItem(key) ?? initial)
  // At once: the page may go away before it is drawn again.
  const set = (text: string): void => {
    keepText(key, text === initial ? '' : text)
    shown.value = text
  }
  return {
    get value() {
      return shown.value
    },
    set value(text) {
      set(text)
    },
    forget: () => set(initial),
  }
}
