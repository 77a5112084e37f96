/** The button that opens the menu where it has no room of its own: on a narrow screen. */
import type { Signal } from '@preact/signals'

export const MenuButton = ({ isMenuOpen }: { readonly isMenuOpen: Signal<boolean> }) => (
  <button
    type="button"
    class="menu-button"
    aria-expanded={isMenuOpen.value}
    aria-controls="menu"
    onClick={() => {
      isMenuOpen.value = !isMenuOpen.value
    }}
  >
    Menu
  </button>
)
