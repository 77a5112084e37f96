/** A resource by its name, with a link to its page. */
import { nameOf } from '../data/resources/resource-names.js'
import { Link } from './link.js'

export function Name({ id }: { readonly id: string }) {
  const { text, path } = nameOf(id)
  if (path === undefined)
    return (
      <span title={id} class={text === id ? 'mono' : undefined}>
        {text}
      </span>
    )
  return (
    <Link to={path} title={id}>
      {text}
    </Link>
  )
}
