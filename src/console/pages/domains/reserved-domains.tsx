/** Domains: the certificate of each and when it expires, when traffic last went there, and the DNS records that lead here. */
import { useSignal } from '@preact/signals'
import type { NewResource, Resource } from '../../../client/kinds.js'
import { act, api, firstOf, useAnswer } from '../../data/asking/api.js'
import { now } from '../../data/clock.js'
import { go, hrefTo } from '../../data/location.js'
import { expiryOf } from '../../data/resources/expiry.js'
import { copyText } from '../../data/texts/clipboard.js'
import { Button, EditButton } from '../../parts/button.js'
import { Drawer } from '../../parts/drawer.js'
import { type FormField, ResourceForm } from '../../parts/forms/resource-form.js'
import {
  LastTrafficFact,
  LastTrafficOf,
  type TrafficAnswer,
  TrafficNote,
  useLastTraffic,
} from '../../parts/last-use.js'
import { HistoryLink } from '../../parts/link.js'
import { Answered, Empty } from '../../parts/states.js'
import { type Column, Table } from '../../parts/tables/table.js'
import { Time } from '../../parts/time.js'
import {
  type Certificate,
  CertificateCell,
  CertificateChoice,
  type Certified,
  certificateChoices,
  Expires,
} from './domain-certificate.js'

type Domain = Resource<'domain'>

const pageOf = 100
const certificatesMax = 500

const open = (id?: string): void => go(hrefTo(id === undefined ? ['domains'] : ['domains', id]))

const columnsWith = (traffic: TrafficAnswer): readonly Column<Certified>[] => [
  { title: 'Domain', cell: ({ domain }) => domain.domain },
  { title: 'Certificate', cell: (entry) => <CertificateCell entry={entry} /> },
  { title: 'Expires', cell: (entry) => <Expires entry={entry} /> },
  { title: 'Last traffic', cell: ({ domain }) => <LastTrafficOf traffic={traffic} id={domain.id} /> },
  {
    title: 'CNAME',
    cell: ({ domain }) => <span class="mono">{domain.cname_target}</span>,
    isWide: true,
    isExtra: true,
  },
]

export function ReservedDomains({ opened }: { readonly opened: string | undefined }) {
  const count = useSignal(pageOf)
  const isCreating = useSignal(false)
  const answer = useAnswer([count.value], async (client) => {
    const [domains, certificates] = await Promise.all([
      firstOf(client.domain.list({ limit: 100 }), count.value),
      firstOf(client.tlsCertificate.list({ limit: 100 }), certificatesMax),
    ])
    return { domains, certificates: certificates.entries }
  })
  const traffic = useLastTraffic('domain', count.value)
  return (
    <div class="stack">
      <div>
        <EditButton onClick={() => (isCreating.value = true)}>Reserve a domain</EditButton>
      </div>
      <Answered answer={answer}>
        {({ domains: { entries, hasMore }, certificates }) => (
          <>
            {isCreating.value && (
              <NewDomain
                certificates={certificates}
                onClose={() => (isCreating.value = false)}
                onDone={answer.again}
              />
            )}
            <List
              domains={entries}
              certificates={certificates}
              traffic={traffic}
              opened={opened}
              again={answer.again}
            />
            <TrafficNote traffic={traffic} />
            {hasMore && <Button onClick={() => (count.value += pageOf)}>Show more</Button>}
          </>
        )}
      </Answered>
    </div>
  )
}

interface ListProps {
  readonly domains: readonly Domain[]
  readonly certificates: readonly Certificate[]
  readonly traffic: TrafficAnswer
  readonly opened: string | undefined
  readonly again: () => void
}

function List({ domains, certificates, traffic, opened, again }: ListProps) {
  const byId = new Map(certificates.map((certificate) => [certificate.id, certificate]))
  const rows = domains.map((domain) => ({ domain, certificate: byId.get(domain.certificate?.id ?? '') }))
  const order = ({ certificate }: Certified): number =>
    expiryOf(certificate?.not_before ?? '', certificate?.not_after, now()).order
  const entry = rows.find(({ domain }) => domain.id === opened)
  return (
    <>
      <Table
        label="Domains; the certificate that expires next comes first"
        rows={rows.toSorted((one, other) => order(one) - order(other))}
        columns={columnsWith(traffic)}
        keyOf={({ domain }) => domain.id}
        opened={opened}
        onOpen={({ domain }) => open(domain.id)}
        empty={
          <Empty>
            <p>
              No domain is reserved. An edge may serve names without; reserve one to keep others from using
              it.
            </p>
          </Empty>
        }
      />
      {entry !== undefined && (
        <DomainDrawer
          key={opened}
          entry={entry}
          certificates={certificates}
          traffic={traffic}
          again={again}
        />
      )}
    </>
  )
}

interface NewDomainProps {
  readonly certificates: readonly Certificate[]
  readonly onClose: () => void
  readonly onDone: () => void
}

function NewDomain({ certificates, onClose, onDone }: NewDomainProps) {
  const fields: readonly FormField[] = [
    { name: 'domain', label: 'Domain', as: 'text', placeholder: 'www.example.com, or *.example.com' },
    { name: 'description', label: 'Description', as: 'text' },
    { name: 'certificate_id', label: 'Certificate', as: 'choice', choices: certificateChoices(certificates) },
  ]
  return (
    <ResourceForm
      title="Reserve a domain"
      fields={fields}
      submit="Reserve"
      onClose={onClose}
      send={async (body) => {
        const { id } = await api.domain.create(body as NewResource<'domain'>)
        onClose()
        onDone()
        open(id)
      }}
    />
  )
}

interface DomainDrawerProps {
  readonly entry: Certified
  readonly certificates: readonly Certificate[]
  readonly traffic: TrafficAnswer
  readonly again: () => void
}

function DomainDrawer({ entry, certificates, traffic, again }: DomainDrawerProps) {
  const { domain } = entry
  const remove = async (): Promise<void> => {
    if (!(await act(`${domain.domain} is free again.`, (client) => client.domain.delete(domain.id)))) return
    open()
    again()
  }
  return (
    <Drawer title={domain.domain} onClose={() => open()}>
      <dl class="facts">
        <dt>Id</dt>
        <dd class="mono">{domain.id}</dd>
        {domain.description !== undefined && (
          <>
            <dt>Description</dt>
            <dd>{domain.description}</dd>
          </>
        )}
        <dt>Certificate</dt>
        <dd>
          <CertificateCell entry={entry} /> <Expires entry={entry} />
        </dd>
        <dt>Last traffic</dt>
        <dd>
          <LastTrafficFact traffic={traffic} id={domain.id} />
        </dd>
        <dt>Reserved</dt>
        <dd>
          <Time at={domain.created_at} />
        </dd>
      </dl>
      <DnsRecords domain={domain} />
      <CertificateChoice domain={domain} certificates={certificates} again={again} />
      <p>
        <HistoryLink id={domain.id} />
      </p>
      <div>
        <EditButton
          kind="danger"
          onClick={remove}
          confirm={`Anyone in this deployment can reserve ${domain.domain} then.`}
        >
          Delete
        </EditButton>
      </div>
    </Drawer>
  )
}

/** What the DNS of the domain must say. */
function DnsRecords({
  domain: { domain, cname_target, acme_challenge_cname_target },
}: {
  readonly domain: Domain
}) {
  const records = [
    [domain, cname_target],
    [`_acme-challenge.${domain.replace(/^\*\./, '')}`, acme_challenge_cname_target],
  ] as const
  return (
    <section class="stack" aria-label="DNS records">
      <h3>DNS records</h3>
      {records.map(
        ([name, target]) =>
          target != null && (
            <div key={name} class="row apart">
              <code>{`${name} CNAME ${target}`}</code>
              <Button onClick={() => copyText(target, target)}>Copy</Button>
            </div>
          ),
      )}
    </section>
  )
}
