/** Buttons that change the account: they exist only for keys that may, and work only while changes are switched on. */
import { isEditing, may, type Right, startEditing } from '../data/access/session.js'
import { Button, type ButtonProps } from '../kit/button.js'

interface EditButtonProps extends ButtonProps {
  readonly right?: Right
}

/** A button that changes the account. */
export function EditButton({ right = 'write', ...props }: EditButtonProps) {
  if (!may(right)) return null
  const locked = isEditing.value ? {} : { isDisabled: true, title: 'Switch on "edit" first (key e).' }
  return <Button {...props} {...locked} />
}

interface BeginButtonProps extends Pick<ButtonProps, 'onClick' | 'children'> {
  readonly right?: Right
}

/** Opens what creates something: who presses it has said what they came for, so changes are switched on by it. */
export const BeginButton = ({ right = 'write', onClick, children }: BeginButtonProps) =>
  may(right) ? (
    <button
      type="button"
      class="main"
      onClick={() => {
        startEditing()
        onClick()
      }}
    >
      {children}
    </button>
  ) : null
