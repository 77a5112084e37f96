/**
 * A new edge, in one flow: what it is for, its names, the proxy's recipe, and the first request. Where one is stands in the
 * URL, so a reload goes on at the same step.
 */
import { useAnswer } from '../../../data/asking/api.js'
import { parameter } from '../../../data/location.js'
import { edgeOf } from '../../../data/resources/edges.js'
import { Link } from '../../../kit/link.js'
import { Steps, Tiles } from '../../../parts/flow/steps.js'
import { Answered } from '../../../parts/states.js'
import { ConnectStep } from './connect-step.js'
import { type EdgeKind, NameStep } from './name-step.js'

const stepNames = ['Kind', 'Names', 'Your proxy', 'First request'] as const

const kinds = [
  {
    id: 'https',
    name: 'Website or API',
    purpose: 'Each request is judged: its path, headers, client. Paths may have rules of their own.',
    needs: 'a proxy that serves HTTP, such as nginx',
    mark: 'M3 5h18v14H3zM3 9h18M6 7h.01M9 7h.01',
  },
  {
    id: 'tcp',
    name: 'Any TCP service',
    purpose: 'Each connection is judged: its client and its TLS. For SSH, databases, mail.',
    needs: 'a proxy or a program that reports connections',
    mark: 'M4 8h6v8H4zM14 8h6v8h-6zM10 12h4',
  },
]

const isKind = (text: string): text is EdgeKind => text === 'https' || text === 'tcp'

export function NewEdge() {
  const [kind, id, proxy, isSeen] = [
    parameter('form'),
    parameter('id'),
    parameter('proxy'),
    parameter('seen') !== '',
  ]
  const at = id === '' ? (isKind(kind) ? 1 : 0) : isSeen ? stepNames.length : proxy === '' ? 2 : 3
  return (
    <div class="stack">
      <p>
        <Link to={['edges']}>Edges</Link>
      </p>
      <h1>New edge</h1>
      <Steps names={stepNames} at={at} />
      {id !== '' ? (
        <Connect key={id} id={id} proxy={proxy} />
      ) : isKind(kind) ? (
        <NameStep key={kind} kind={kind} />
      ) : (
        <>
          <p class="quiet">An edge is what clients connect to: host names and ports. What is behind yours?</p>
          <Tiles label="Kinds of edges" entries={kinds} to={['edges', 'new']} with={(form) => ({ form })} />
        </>
      )}
    </div>
  )
}

function Connect({ id, proxy }: { readonly id: string; readonly proxy: string }) {
  const edge = useAnswer([id], (client) => edgeOf(client, id))
  return (
    <Answered answer={edge}>
      {(found) => <ConnectStep edge={found} proxy={proxy} again={edge.again} />}
    </Answered>
  )
}
