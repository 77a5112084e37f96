/**
 * Keys that work anywhere, unless someone types into a field. A page adds its own while it is shown; `g` and a letter
 * lead to a page.
 */
import { useEffect } from 'preact/hooks'
import { monotonicMs } from '../data/clock.js'

type Handlers = Readonly<Record<string, () => void>>

const stack: Handlers[] = []
/** The letters after `g`, by the shell. */
let jumps: Handlers = {}
let jumpUntilMs = 0
const jumpWithinMs = 1_500

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.shadowRoot !== null || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

addEventListener('keydown', (event) => {
  // Something on the way has used it already, such as a list of completions.
  if (event.defaultPrevented) return
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key !== 'Escape' && isTyping(event.target)) return
  const handlers = monotonicMs() < jumpUntilMs ? [jumps] : stack.toReversed()
  jumpUntilMs = event.key === 'g' ? monotonicMs() + jumpWithinMs : 0
  const handler = handlers.find((each) => Object.hasOwn(each, event.key))?.[event.key]
  if (handler === undefined) return
  event.preventDefault()
  handler()
})

/** Keys by the names that `KeyboardEvent.key` has; those of a component that was added later come first. */
export function useKeys(handlers: Handlers): void {
  useEffect(() => {
    stack.push(handlers)
    return () => void stack.splice(stack.indexOf(handlers), 1)
  })
}

/** Where `g` and a letter lead. */
export function setJumps(handlers: Handlers): void {
  jumps = handlers
}
