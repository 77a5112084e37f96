/** A link to another view of the console, which needs no request for a page. */
import type { ComponentChildren } from 'preact'
import { go, hrefTo, type Parameters } from '../data/location.js'

interface LinkProps {
  /** The parts of the path below `/console/`; none: the first page. */
  readonly to: readonly string[]
  readonly with?: Parameters
  readonly class?: string
  readonly title?: string | undefined
  readonly isCurrent?: boolean
  readonly children: ComponentChildren
}

export function Link({ to, with: parameters, children, isCurrent, ...others }: LinkProps) {
  const href = hrefTo(to, parameters)
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(href)
  }
  return (
    <a href={href} onClick={follow} aria-current={isCurrent ? 'page' : undefined} {...others}>
      {children}
    </a>
  )
}
