/** Resources by their names, with links to their pages. */
import { nameOf } from '../data/resources/resource-names.js'
import { Link } from '../kit/link.js'

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

/** Several, in a row. */
export const Names = ({ ids }: { readonly ids: readonly string[] }) => (
  <>
    {ids.map((id, index) => (
      <span key={id}>
        {index > 0 && ', '}
        <Name id={id} />
      </span>
    ))}
  </>
)
