/** A button that lets an edge serve one more name. */
import { act } from '../../../data/asking/api.js'
import { type Edge, isTcp } from '../../../data/resources/edges.js'
import { EditButton } from '../../../parts/edit-button.js'

interface ServeItProps {
  readonly edge: Edge
  readonly hostport: string
  readonly again: () => void
}

export function ServeIt({ edge, hostport, again }: ServeItProps) {
  const add = async (): Promise<void> => {
    const body = { hostports: [...edge.hostports, hostport] }
    const isDone = await act<unknown>(`The edge serves ${hostport}, too.`, (client) =>
      isTcp(edge) ? client.tcpEdge.update(edge.id, body) : client.httpsEdge.update(edge.id, body),
    )
    if (isDone) again()
  }
  return <EditButton onClick={add}>{`Serve ${hostport} here, too`}</EditButton>
}
