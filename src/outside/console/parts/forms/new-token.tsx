/**
 * The common part of API keys, tunnel credentials and bouncers: a token that is shown once, and its replacement by a new
 * one.
 */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Client } from '../../../../words/client/client.js'
import type { Right } from '../../data/access/session.js'
import { act } from '../../data/asking/api.js'
import { copyText } from '../../data/clipboard.js'
import { Button } from '../../kit/button.js'
import { EditButton } from '../edit-button.js'

/** A token that was made just now, and what it takes the place of. */
interface NewToken {
  readonly title: string
  readonly token: string
  readonly replaced?: Replaced | undefined
}

interface Replaced {
  readonly name: string
  readonly right: Right
  /** Undefined: it can't be deleted by this session. */
  readonly remove: ((client: Client) => Promise<void>) | undefined
  readonly onRemoved: () => void
}

/** Held only while it is shown. */
const shown = signal<NewToken | undefined>(undefined)

export function showToken(token: NewToken): void {
  shown.value = token
}

export function NewTokenDialog() {
  const present = shown.value
  if (present === undefined) return null
  const { title, token, replaced } = present
  return (
    <OneTimeToken
      title={title}
      token={token}
      onClose={() => {
        shown.value = undefined
      }}
    >
      {replaced && <Removal title={title} replaced={replaced} />}
    </OneTimeToken>
  )
}

function Removal({
  title,
  replaced: { name, right, remove, onRemoved },
}: {
  readonly title: string
  readonly replaced: Replaced
}) {
  if (remove === undefined)
    return (
      <p>
        The old one, “{name}”, is the key of this session, which can't delete itself: sign out, sign in with
        the new one, and delete it then.
      </p>
    )
  return (
    <div class="stack">
      <p>Both work now. Once the new one is in use, delete the old one, “{name}”:</p>
      <div>
        <EditButton
          kind="danger"
          right={right}
          onClick={async () => {
            if (!(await act(`The old ${title} is deleted.`, remove))) return
            showTokenWithoutReplaced()
            onRemoved()
          }}
        >
          {`Delete the old ${title}`}
        </EditButton>
      </div>
    </div>
  )
}

function showTokenWithoutReplaced(): void {
  if (shown.value === undefined) return
  const { title, token } = shown.value
  shown.value = { title, token }
}

/** A token that is shown once: it is in no storage of the browser, and not in the address. */
interface OneTimeTokenProps {
  /** The resource that has the token, such as `API key`. */
  readonly title: string
  readonly token: string
  readonly onClose: () => void
  /** The next step. */
  readonly children?: ComponentChildren
}

function OneTimeToken({ title, token, onClose, children }: OneTimeTokenProps) {
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
