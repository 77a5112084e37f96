/** A token that is shown once: it is in no storage of the browser, and not in the address. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { copyText } from '../data/clipboard.js'
import { Button } from './button.js'

interface OneTimeTokenProps {
  /** What it is, such as `API key`. */
  readonly title: string
  readonly token: string
  readonly onClose: () => void
  /** What to do next. */
  readonly children?: ComponentChildren
}

export function OneTimeToken({ title, token, onClose, children }: OneTimeTokenProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="token" aria-label={`The token of the ${title}`} onClose={onClose}>
      <div class="stack">
        <h2>The token of the {title}</h2>
        <p>It is shown only now. Weir keeps nothing but a hash of it.</p>
        <label for={id}>Token</label>
        <div class="row">
          <input
            id={id}
            class="mono"
            type="text"
            readOnly
            value={token}
            onFocus={(event) => event.currentTarget.select()}
          />
          <Button kind="main" onClick={() => copyText(token, 'the token')}>
            Copy
          </Button>
        </div>
        {children}
        <div class="actions">
          <Button onClick={() => dialog.current?.close()}>I have it: close</Button>
        </div>
      </div>
    </dialog>
  )
}
