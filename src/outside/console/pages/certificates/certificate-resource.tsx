/** A kind of certificates or their like as a plain resource: its list, its form, what an open one shows. */
import type { Client } from '../../../../words/client/client.js'
import { act, firstOf } from '../../data/asking/api.js'
import { now } from '../../data/clock.js'
import { notify } from '../../data/notices.js'
import { kindTitle } from '../../data/resources/resource-kinds.js'
import type { Column } from '../../kit/tables/table.js'
import { Time } from '../../kit/time.js'
import { ExpiryWord, expiryOf } from '../../parts/expiry.js'
import type { FormField } from '../../parts/forms/declared-field.js'
import type { FormBody } from '../../parts/forms/declared-form.js'
import { LastTrafficOf, type TrafficAnswer, TrafficNote, useLastTraffic } from '../../parts/last-use.js'
import type { PlainResource } from '../../parts/plain/plain-resource.js'
import { certificateFacts, PublicTexts, UsedBy } from './certificate-facts.js'
import {
  type CertificateKind,
  type Certified,
  certificateKinds,
  domainsField,
  domainsWith,
  formLike,
  nameOfCertified,
  namesOf,
  validityOf,
} from './certificate-kinds.js'

export function certificateResource(kind: CertificateKind): PlainResource<Certified, TrafficAnswer> {
  const title = kindTitle(kind.kind)
  const add = `Add ${/^[AEIOS]/.test(title) ? 'an' : 'a'} ${title}`
  return {
    title,
    place: { page: 'certificates', tab: kind === certificateKinds[0] ? undefined : kind.kind },
    operations: kind.operations,
    useBeside: (count) => useLastTraffic(kind.lastUse === 'traffic' ? 'tlsCertificate' : undefined, count),
    nameOf: nameOfCertified,
    list: {
      label: `Entries of the kind ${title}; what expires next comes first`,
      columns: (traffic) => columnsOf(kind, traffic),
      orderOf: (entry) => expiryOf(validityOf(entry).from, validityOf(entry).until, now()).order,
      empty: <p>The account has none of this kind. {kind.about}</p>,
      note: (traffic) => <LastUseNote kind={kind} traffic={traffic} />,
    },
    form: {
      button: add,
      title: `Add: ${title}`,
      submit: 'Add',
      fields: (client, like) => fieldsOf(kind, client, like),
      impossible: <p>An authority must sign it, and there is none: add an SSH CA first.</p>,
      bodyOf: ({ domains: _, ...body }, like) => ({
        ...body,
        ...(like?.metadata && { metadata: like.metadata }),
      }),
      whenMade: (made, body, like) => added(title, made, body, like),
    },
    renewal: {
      button: 'Renew: make a new one',
      isOffered: (entry) => validityOf(entry).until !== undefined,
      look: (like) => ({
        title: `A new one in place of “${like.description || like.id}”`,
        submit: 'Make the new one',
      }),
    },
    drawer: {
      title: (entry) => `${title}: ${nameOfCertified(entry)}`,
      facts: (entry, traffic) => certificateFacts(kind, entry, traffic),
      below: ({ id }) => kind.kind === 'tls_certificate' && <UsedBy id={id} />,
      texts: (entry) => <PublicTexts entry={entry} />,
    },
    removal: {
      button: 'Delete',
      confirm: (entry) => `Delete the ${title} “${nameOfCertified(entry)}”? ${kind.deletion}`,
      done: () => `The ${title} is deleted.`,
    },
  }
}

const name: Column<Certified> = { title: 'Description', isMain: true, cell: nameOfCertified }
const expires: Column<Certified> = {
  title: 'Expires',
  cell: (entry) => <ExpiryWord {...validityOf(entry)} />,
}
const until: Column<Certified> = {
  title: 'Until',
  cell: (entry) => <Time at={validityOf(entry).until ?? null} />,
}
const names: Column<Certified> = { title: 'For', cell: namesOf, isWide: true }
const key: Column<Certified> = {
  title: 'Key',
  cell: ({ key_type, private_key_type }) => key_type ?? private_key_type ?? '',
}
const created: Column<Certified> = {
  title: 'Added',
  cell: ({ created_at }) => <Time at={created_at} />,
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

interface LastUseNoteProps {
  readonly kind: CertificateKind
  readonly traffic: TrafficAnswer
}

/** Why no column says when entries were used last. */
function LastUseNote({ kind: { lastUse }, traffic }: LastUseNoteProps) {
  if (lastUse === 'traffic') return <TrafficNote traffic={traffic} />
  if (lastUse === 'signing') return <p class="quiet">An open one says when it signed last.</p>
  return <p class="quiet">Last use: {lastUse.unknown}</p>
}

const authoritiesMax = 100

/** None, if an authority must sign it and there is none. */
async function fieldsOf(
  { kind, form }: CertificateKind,
  client: Client,
  like: Certified | undefined,
): Promise<readonly FormField[]> {
  const needsAuthority = kind === 'ssh_host_certificate' || kind === 'ssh_user_certificate'
  const { entries: authorities } = needsAuthority
    ? await firstOf<Certified>(client.sshCertificateAuthority.list({ limit: authoritiesMax }), authoritiesMax)
    : { entries: [] }
  if (needsAuthority && authorities.length === 0) return []
  if (like === undefined) return form(authorities)
  return [...formLike(form(authorities), like), ...(kind === 'tls_certificate' ? [domainsField] : [])]
}

/** It is added. Its domains are moved then: if these stay with the old one, a notice says why. */
async function added(
  title: string,
  { id, refused_by: refusal }: Certified,
  { domains }: FormBody,
  like: Certified | undefined,
): Promise<void> {
  const refused = refusal ? ` Some clients refuse it: ${refusal}` : ''
  notify({ kind: 'good', text: `The ${title} was added.${refused}` })
  if (domains === 'move' && like !== undefined)
    await act(movedText, (client) => moveDomains(client, like.id, id))
}

/** Has the domains of one certificate use another one; how many did. */
async function moveDomains(client: Client, from: string, to: string): Promise<number> {
  let count = 0
  for await (const { id } of domainsWith(client, from)) {
    await client.domain.update(id, { certificate_id: to })
    count += 1
  }
  return count
}

function movedText(count: number): string {
  if (count === 0) return 'No domain used the old one.'
  return count === 1 ? 'A domain uses the new one now.' : `${count} domains use the new one now.`
}
