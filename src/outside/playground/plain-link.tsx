/** Takes the place of `console/kit/link.tsx`: the console has no page for what is only written here. */
import type { Link as LinkInConsole } from '../console/kit/link.js'

export const Link: typeof LinkInConsole = ({ children, class: name, title }) => (
  <span class={name} title={title}>
    {children}
  </span>
)
