/** A panel at the right over a view, for one of its entries. Escape closes it. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { may } from '../data/access/session.js'
import { EditSwitch } from './edit-switch.js'
import { useKeys } from './keyboard.js'

interface DrawerProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Drawer({ title, onClose, children }: DrawerProps) {
  const panel = useRef<HTMLDivElement>(null)
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
          {/* The one of the page is below the drawer. */}
          {may('write') && <EditSwitch />}
          <button type="button" onClick={onClose} title="Close (Escape)">
            Close
          </button>
        </div>
      </header>
      <div class="drawer-content">{children}</div>
    </div>
  )
}
