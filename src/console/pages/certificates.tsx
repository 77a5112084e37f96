/** Certificates and SSH credentials: when they expire, what they are for, their last use; what expires next comes first. */
import { useSignal } from '@preact/signals'
import { firstOf, useAnswer } from '../data/asking/api.js'
import { now } from '../data/clock.js'
import { go, hrefTo, parameter } from '../data/location.js'
import { expiryOf } from '../data/resources/expiry.js'
import { kindOfId, kindTitle } from '../data/resources/resource-kinds.js'
import { Button, EditButton } from '../parts/button.js'
import { ExpiryWord } from '../parts/expiry-word.js'
import { Choices } from '../parts/forms/choices.js'
import { LastTrafficOf, type TrafficAnswer, TrafficNote, useLastTraffic } from '../parts/last-use.js'
import type { PageProps } from '../parts/page-props.js'
import { Answered, Empty } from '../parts/states.js'
import { type Column, Table } from '../parts/tables/table.js'
import { Time } from '../parts/time.js'
import { CertificateDrawer } from './certificates/certificate-drawer.js'
import {
  type CertificateKind,
  type Certified,
  certificateKinds,
  nameOfCertified,
  namesOf,
  validityOf,
} from './certificates/certificate-kinds.js'
import { NewCertificate } from './certificates/new-certificate.js'

const tabs = certificateKinds.map(({ kind, tab }) => [kind, tab] as const)

export function Certificates({ rest: [id] }: PageProps) {
  const wanted = parameter('tab') || kindOfId(id ?? '')
  const kind = certificateKinds.find((each) => each.kind === wanted) ?? certificateKinds[0]!
  return (
    <div class="stack">
      <h1>Certificates</h1>
      <Choices label="Kind" name="tab" choices={tabs} />
      <CertificatesOfKind key={kind.kind} kind={kind} opened={id} />
    </div>
  )
}

const pageOf = 100

interface OfKindProps {
  readonly kind: CertificateKind
  readonly opened: string | undefined
}

function CertificatesOfKind({ kind, opened }: OfKindProps) {
  const count = useSignal(pageOf)
  const answer = useAnswer([count.value], (client) =>
    firstOf(kind.operations(client).list({ limit: 100 }), count.value),
  )
  const traffic = useLastTraffic(kind.lastUse === 'traffic' ? 'tlsCertificate' : undefined, count.value)
  const like = useSignal<Certified | undefined>(undefined)
  const isCreating = useSignal(false)
  const begin = (entry?: Certified): void => {
    like.value = entry
    isCreating.value = true
    if (opened !== undefined) open(kind)
  }
  const title = kindTitle(kind.kind)
  return (
    <div class="stack">
      <div>
        <EditButton
          onClick={() => begin()}
        >{`Add ${/^[AEIOS]/.test(title) ? 'an' : 'a'} ${title}`}</EditButton>
      </div>
      {isCreating.value && (
        <NewCertificate
          kind={kind}
          like={like.value}
          onClose={() => (isCreating.value = false)}
          onDone={answer.again}
        />
      )}
      <Answered answer={answer}>
        {({ entries, hasMore }) => (
          <>
            <List kind={kind} entries={entries} traffic={traffic} opened={opened} />
            <LastUseNote kind={kind} traffic={traffic} />
            {hasMore && <Button onClick={() => (count.value += pageOf)}>Show more</Button>}
            {entries
              .filter((entry) => entry.id === opened)
              .map((entry) => (
                <CertificateDrawer
                  key={entry.id}
                  kind={kind}
                  entry={entry}
                  traffic={traffic}
                  onClose={() => open(kind)}
                  onRenew={() => begin(entry)}
                  onDeleted={answer.again}
                />
              ))}
          </>
        )}
      </Answered>
    </div>
  )
}

const open = ({ kind }: CertificateKind, id?: string): void =>
  go(
    hrefTo(id === undefined ? ['certificates'] : ['certificates', id], {
      tab: kind === certificateKinds[0]!.kind ? undefined : kind,
    }),
  )

const name: Column<Certified> = { title: 'Description', cell: nameOfCertified }
const expires: Column<Certified> = {
  title: 'Expires',
  cell: (entry) => <ExpiryWord {...validityOf(entry)} until={validityOf(entry).until} />,
}
const until: Column<Certified> = {
  title: 'Until',
  cell: (entry) => <Time at={validityOf(entry).until ?? null} />,
  isExtra: true,
}
const names: Column<Certified> = { title: 'For', cell: namesOf, isWide: true }
const key: Column<Certified> = {
  title: 'Key',
  cell: ({ key_type, private_key_type }) => key_type ?? private_key_type ?? '',
  isExtra: true,
}
const created: Column<Certified> = {
  title: 'Added',
  cell: ({ created_at }) => <Time at={created_at} />,
  isExtra: true,
}

const lastTraffic = (traffic: TrafficAnswer): Column<Certified> => ({
  title: 'Last traffic',
  cell: ({ id }) => <LastTrafficOf traffic={traffic} id={id} />,
})

/** They never expire. */
const lasting = new Set(['ssh_certificate_authority', 'ssh_credential'])

const columnsOf = ({ kind, lastUse }: CertificateKind, traffic: TrafficAnswer): Column<Certified>[] =>
  lasting.has(kind)
    ? [name, ...(kind === 'ssh_credential' ? [names] : []), key, created]
    : [name, expires, ...(lastUse === 'traffic' ? [lastTraffic(traffic)] : []), until, names, key, created]

interface ListProps extends OfKindProps {
  readonly entries: readonly Certified[]
  readonly traffic: TrafficAnswer
}

/** Why no column says when entries were used last. */
function LastUseNote({ kind: { lastUse }, traffic }: Pick<ListProps, 'kind' | 'traffic'>) {
  if (lastUse === 'traffic') return <TrafficNote traffic={traffic} />
  if (lastUse === 'signing') return <p class="quiet">An open one says when it signed last.</p>
  return <p class="quiet">Last use: {lastUse.unknown}</p>
}

function List({ kind, entries, traffic, opened }: ListProps) {
  const nowMs = now()
  const order = (entry: Certified): number => {
    const { from, until } = validityOf(entry)
    return expiryOf(from, until, nowMs).order
  }
  return (
    <Table
      label={`Entries of the kind ${kindTitle(kind.kind)}; what expires next comes first`}
      rows={entries.toSorted((one, other) => order(one) - order(other))}
      columns={columnsOf(kind, traffic)}
      keyOf={({ id }) => id}
      opened={opened}
      onOpen={({ id }) => open(kind, id)}
      empty={
        <Empty>
          <p>The account has none of this kind. Switch on “edit” (key e) and add one.</p>
        </Empty>
      }
    />
  )
}
