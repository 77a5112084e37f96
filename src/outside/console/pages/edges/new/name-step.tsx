/** The names and ports of a new edge, with those that records have and no edge serves. */
import type { Client } from '../../../../../words/client/client.js'
import { act, useAnswer } from '../../../data/asking/api.js'
import { useDraftCheck } from '../../../data/drafts/draft-check.js'
import { type KeptText, useKeptText } from '../../../data/drafts/kept-text.js'
import { go, hrefTo, parameter } from '../../../data/location.js'
import { number } from '../../../data/texts/format.js'
import { Button } from '../../../kit/button.js'
import { LinesField, TextField } from '../../../kit/forms/fields.js'
import { Link } from '../../../kit/link.js'
import { EditButton } from '../../../parts/edit-button.js'
import { Locked } from '../../../parts/flow/locked.js'
import { FormFaults } from '../../../parts/forms/form-faults.js'
import { unservedNames } from './unserved.js'

export type EdgeKind = 'tcp' | 'https'

const words = {
  https: {
    title: 'Website or API',
    example: 'www.example.com',
    ports: '443, 80',
    portsHint:
      'Each port that your proxy listens on. Many listen on 80, too, if only to redirect: without it, no edge serves those requests.',
  },
  tcp: {
    title: 'TCP service',
    example: 'ssh.example.com',
    ports: '22',
    portsHint: 'Each port that clients connect to: 22 for SSH, 5432 for PostgreSQL.',
  },
} as const

const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

/** A name that has a port of its own keeps it. */
const hostportsOf = (names: string, ports: string): string[] =>
  wordsIn(names).flatMap((name) =>
    /:\d+$/.test(name) ? [name] : wordsIn(ports).map((port) => `${name}:${port}`),
  )

const createEdge = (client: Client, kind: EdgeKind, body: { hostports: string[] }, validateOnly: boolean) =>
  kind === 'tcp'
    ? client.tcpEdge.create(body, { validateOnly })
    : client.httpsEdge.create(body, { validateOnly })

export function NameStep({ kind }: { readonly kind: EdgeKind }) {
  const { title, example, ports: usualPorts } = words[kind]
  // A link that brings a name is not answered by what was typed about another one.
  const key = `weir-draft new edge ${kind} ${parameter('hostport')}`
  const names = useKeptText(`${key} names`, parameter('hostport'))
  const ports = useKeptText(`${key} ports`, usualPorts)
  const description = useKeptText(`${key} description`)
  const hostports = hostportsOf(names.value, ports.value)
  const body = { hostports, description: description.value }
  const { error, isChecking } = useDraftCheck(
    body,
    (client) => createEdge(client, kind, body, true),
    // Names that are not filled in yet are no mistake.
    hostports.length === 0 ? body : null,
  )
  const create = async (): Promise<void> => {
    let id = ''
    const isDone = await act('The edge was created.', async (client) => {
      id = (await createEdge(client, kind, body, false)).id
    })
    if (!isDone) return
    for (const typed of [names, ports, description]) typed.forget()
    go(hrefTo(['edges', 'new'], { id }))
  }
  return (
    <div class="split flow">
      <section class="panel stack" aria-label={title}>
        <h2>{title}</h2>
        <FormFaults error={error}>
          <Fields {...{ kind, names, ports, description }} />
        </FormFaults>
        <Locked />
        <div class="row">
          <EditButton
            kind="main"
            onClick={create}
            isDisabled={hostports.length === 0 || isChecking || error !== undefined}
          >
            Create, and connect your proxy
          </EditButton>
          <Link to={['edges', 'new']}>Another kind</Link>
        </div>
      </section>
      <div class="stack">
        <Served hostports={hostports} example={example} />
        <SeenNames
          kind={kind}
          chosen={hostports}
          onAdd={(name) => {
            names.value = [...wordsIn(names.value), name].join('\n')
          }}
        />
      </div>
    </div>
  )
}

interface FieldsProps {
  readonly kind: EdgeKind
  readonly names: KeptText
  readonly ports: KeptText
  readonly description: KeptText
}

function Fields({ kind, names, ports, description }: FieldsProps) {
  const { example, portsHint } = words[kind]
  return (
    <>
      <LinesField
        name="hostports"
        label="Host names"
        value={names.value}
        hint={`As clients write them, one on each line: ${example}. *.example.com stands for all names below it.`}
        onChange={(text) => {
          names.value = text
        }}
      />
      <TextField
        label="Ports"
        value={ports.value}
        hint={portsHint}
        onChange={(text) => {
          ports.value = text
        }}
      />
      <TextField
        name="description"
        label="Description"
        isOptional
        value={description.value}
        hint="What it is, for you and your colleagues: the shop."
        onChange={(text) => {
          description.value = text
        }}
      />
    </>
  )
}

interface ServedProps {
  readonly hostports: readonly string[]
  /** A host name. */
  readonly example: string
}

const Served = ({ hostports, example }: ServedProps) => (
  <section class="panel stack" aria-label="What it serves">
    <h2>It will serve</h2>
    {hostports.length === 0 ? (
      <p class="quiet">Each host name at each port: {example}:443, for example.</p>
    ) : (
      <ul class="listed mono">
        {hostports.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
    )}
  </section>
)

interface SeenNamesProps {
  readonly kind: EdgeKind
  readonly chosen: readonly string[]
  readonly onAdd: (hostport: string) => void
}

/** Only if there are any: a proxy may report to Weir already. */
function SeenNames({ kind, chosen, onAdd }: SeenNamesProps) {
  const seen = useAnswer([kind], (client) =>
    unservedNames(client, kind === 'tcp' ? 'tcp_connection' : 'http_request'),
  )
  const open = (seen.data ?? []).filter(({ name }) => !chosen.includes(name))
  if (open.length === 0) return null
  return (
    <section class="panel stack" aria-label="Names without an edge">
      <h2>Your proxy has reported these</h2>
      <p class="quiet">No edge serves these names yet, so their records pass unjudged.</p>
      <ul class="listed">
        {open.map(({ name, count }) => (
          <li key={name} class="row">
            <Button onClick={() => onAdd(name)}>Add</Button> <span class="mono">{name}</span>{' '}
            <span class="quiet">
              {number(count)} {count === 1 ? 'record' : 'records'} in the last day
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
