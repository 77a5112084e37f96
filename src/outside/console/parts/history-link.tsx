/** To the changes of a resource. */
import { Link } from '../kit/link.js'

export const HistoryLink = ({ id }: { readonly id: string }) => (
  <Link to={['changes']} with={{ id }}>
    Its history
  </Link>
)
