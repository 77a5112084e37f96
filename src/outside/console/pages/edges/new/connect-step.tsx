/**
 * The recipe to paste into one's proxy, with the names, the address and a key filled in, next to the request that the page
 * waits for.
 */
import { useSignal } from '@preact/signals'
import { may, session } from '../../../data/access/session.js'
import { act } from '../../../data/asking/api.js'
import { root } from '../../../data/location.js'
import { type Edge, isTcp } from '../../../data/resources/edges.js'
import { Choices, choiceIn } from '../../../kit/choices.js'
import { CopyText } from '../../../kit/copy.js'
import { TextField } from '../../../kit/forms/fields.js'
import { Link } from '../../../kit/link.js'
import { EditButton } from '../../../parts/edit-button.js'
import { Locked } from '../../../parts/flow/locked.js'
import { Tiles } from '../../../parts/flow/steps.js'
import { FirstRequest } from './first-request.js'
import { type Filling, filled, needsKey, type ProxyKind, proxyKinds } from './proxies.js'
import { ServeIt } from './serve-it.js'

interface ConnectStepProps {
  readonly edge: Edge
  readonly proxy: string
  /** The edge has changed. */
  readonly again: () => void
}

export function ConnectStep({ edge, proxy, again }: ConnectStepProps) {
  // It goes with whichever program is chosen.
  const key = useSignal('')
  const traffic = isTcp(edge) ? 'tcp' : 'https'
  const kinds = proxyKinds.filter(({ log }) => log[traffic] !== undefined)
  const chosen = kinds.find(({ id }) => id === proxy)
  if (chosen === undefined)
    return (
      <>
        <p>
          The edge of <span class="mono">{edge.hostports.join(', ')}</span> is created. Which program serves
          it?
        </p>
        <Tiles
          label="Proxies"
          entries={kinds}
          to={['edges', 'new']}
          with={(id) => ({ id: edge.id, proxy: id })}
        />
        <p>
          <Link to={['edges', edge.id]}>Later</Link>
        </p>
      </>
    )
  return (
    <div class="split flow">
      <Recipe key={chosen.id} kind={chosen} token={key} edge={edge} again={again} />
      <FirstRequest edge={edge} again={again} />
    </div>
  )
}

const ways = [
  ['asks', 'It asks before it serves'],
  ['log', 'Its log is read'],
] as const

interface TextSignal {
  value: string
}

interface RecipeProps {
  readonly kind: ProxyKind
  /** Of the key that is filled in; empty: none is made yet. */
  readonly token: TextSignal
  readonly edge: Edge
  readonly again: () => void
}

/** Where proxies ask, as far as the console knows. */
const askedAt = (): string => `${location.hostname}:${session.value?.decide_port ?? 8081}`

function Recipe({ kind, token, edge, again }: RecipeProps) {
  const [weir, app] = [useSignal(askedAt()), useSignal('127.0.0.1:3000')]
  const isAsking = kind.asks !== undefined && !isTcp(edge) && choiceIn('way', ways) === 'asks'
  const log = kind.log[isTcp(edge) ? 'tcp' : 'https']
  const parts = (isAsking ? kind.asks : log?.parts) ?? []
  const [host = '', port = '443'] = /^(.*):(\d+)$/.exec(edge.hostports[0] ?? '')?.slice(1) ?? []
  const apiUrl = new URL(root, location.href).href.replace(/\/$/, '')
  const filling: Filling = {
    edgeId: edge.id,
    host,
    port,
    apiUrl,
    weir: weir.value,
    app: app.value,
    key: token.value,
  }
  return (
    <section class="panel stack" aria-label={kind.name}>
      <div class="row apart">
        <h2>{kind.name}</h2>
        <Link to={['edges', 'new']} with={{ id: edge.id }}>
          Another program
        </Link>
      </div>
      {kind.asks !== undefined && !isTcp(edge) && (
        <Choices label="How Weir gets to know of requests" name="way" choices={ways} />
      )}
      <p class="quiet">
        {isAsking
          ? 'Weir decides before a request is served, so what a policy denies is refused.'
          : 'Clients notice nothing: requests are judged from what is logged, and can be looked at here.'}
      </p>
      {isAsking && <Addresses {...{ weir, app }} />}
      {isAsking && <PortOfRecipe edge={edge} host={host} again={again} />}
      {parts.some(({ mark }) => needsKey(mark)) && <KeyFor name={kind.name} token={token} />}
      <ol class="stack numbered">
        {parts.map(({ file, mark }) => (
          <li key={mark}>
            <p>{placeOf(file, kind)}</p>
            <CopyText what={file === '' ? 'the text' : file} text={filled(mark, filling).trimEnd()} />
          </li>
        ))}
        {kind.reload !== '' && (
          <li key="reload">
            <p>Let it read its configuration again.</p>
            <CopyText what="the command" text={kind.reload} />
          </li>
        )}
        {!isAsking && log?.publish !== undefined && (
          <li key="publish">
            <p>
              Read the log, on the machine where it is written. Elsewhere than next to Weir, NATS_URL has the
              address and the password that <code>weir serve</code> prints.
            </p>
            <CopyText what="the command" text={filled(log.publish, filling).trimEnd()} />
          </li>
        )}
      </ol>
      {edge.hostports.length > 1 && isAsking && (
        <p class="quiet">Write other names of the edge next to {host}.</p>
      )}
    </section>
  )
}

function placeOf(file: string, { id, name }: ProxyKind) {
  if (file !== '')
    return (
      <>
        Write this to <span class="mono">{file}</span>.
      </>
    )
  return id === 'http' ? 'Send a record like this one.' : `Add this to the configuration of ${name}.`
}

const Addresses = ({ weir, app }: { readonly weir: TextSignal; readonly app: TextSignal }) => (
  <div class="split even">
    <TextField
      label="Where it reaches Weir"
      value={weir.value}
      hint={
        session.value?.decide_port == null
          ? 'Host and port. Weir listens for proxies once WEIR_DECIDE_PORT has a port.'
          : 'Host and port, as the proxy sees them.'
      }
      onChange={(text) => {
        weir.value = text
      }}
    />
    <TextField
      label="Your application"
      value={app.value}
      hint="What is behind the proxy: 127.0.0.1:3000."
      onChange={(text) => {
        app.value = text
      }}
    />
  </div>
)

/** Recipes listen on the port 80. */
const PortOfRecipe = ({
  edge,
  host,
  again,
}: Omit<RecipeProps, 'kind' | 'token'> & { readonly host: string }) =>
  edge.hostports.includes(`${host}:80`) ? null : (
    <div class="row">
      <span>The proxy listens on port 80 here, which the edge does not serve.</span>
      <ServeIt edge={edge} hostport={`${host}:80`} again={again} />
    </div>
  )

/** Made once it is wanted, and shown in what is to be pasted, as long as the page is open. */
function KeyFor({ name, token }: { readonly name: string; readonly token: TextSignal }) {
  if (token.value !== '')
    return <p role="status">A key is filled in. It may only ask and send records, and is shown only now.</p>
  if (!may('all'))
    return (
      <p class="quiet">
        In place of weir_… belongs a key that may ask and send records. Yours can't make keys; ask a
        colleague.
      </p>
    )
  const make = (): Promise<boolean> =>
    act('A key was made.', async (client) => {
      const made = await client.apiKey.create({ description: name, rights: ['decide', 'publish'] })
      token.value = made.token ?? ''
    })
  return (
    <>
      <Locked />
      <div class="row">
        <EditButton kind="main" right="all" onClick={make}>
          Make a key for it
        </EditButton>
        <span class="quiet">It takes the place of weir_… below.</span>
      </div>
    </>
  )
}
