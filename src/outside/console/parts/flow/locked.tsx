/** Why a button can't be pressed, next to it, with what makes it work. */
import { isEditing, may, startEditing } from '../../data/access/session.js'

export const Locked = () =>
  may('write') && !isEditing.value ? (
    <p class="row quiet">
      Changes are switched off.
      <button type="button" onClick={startEditing}>
        Switch them on
      </button>
    </p>
  ) : null
