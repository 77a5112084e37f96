/** Switches changes on and off, for those who may make them. */
import { isEditing, may, toggleEditing } from '../data/access/session.js'

export function EditSwitch() {
  if (!may('write')) return <span class="quiet">read-only key</span>
  return (
    <button
      type="button"
      class="edit-switch"
      aria-pressed={isEditing.value}
      onClick={toggleEditing}
      title="Changes (key e)"
    >
      {isEditing.value ? 'Editing' : 'Read-only'}
    </button>
  )
}
