/** A panel at the right over a view, for one of its entries. Escape closes it. */
import { type ComponentChildren, type ComponentType, createContext } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import { useKeys } from './keyboard.js'

interface DrawerProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** Controls that the frame of the page adds to the head of each drawer, because a drawer covers that of the page. */
export const DrawerControls = createContext<ComponentType>(() => null)

export function Drawer({ title, onClose, children }: DrawerProps) {
  const panel = useRef<HTMLDivElement>(null)
  const Controls = useContext(DrawerControls)
  useKeys({ Escape: onClose })
  useEffect(() => {
    const before = document.activeElement
    panel.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <div class="drawer" role="dialog" aria-label={title} tabIndex={-1} ref={panel}>
      <header>
        <h2>{title}</h2>
        <div class="row">
          <Controls />
          <button type="button" onClick={onClose} title="Close (Escape)">
            Close
          </button>
        </div>
      </header>
      <div class="drawer-content">{children}</div>
    </div>
  )
}
