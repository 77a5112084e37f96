/** The form that adds a certificate, or one that takes the place of another. */
import { act, api, firstOf, useAnswer } from '../../data/asking/api.js'
import { notify } from '../../data/notices.js'
import { kindTitle } from '../../data/resources/resource-kinds.js'
import { type FormField, ResourceForm } from '../../parts/forms/resource-form.js'
import { Answered, Empty } from '../../parts/states.js'
import {
  type CertificateKind,
  type Certified,
  domainsField,
  formLike,
  moveDomains,
} from './certificate-kinds.js'

interface NewCertificateProps {
  readonly kind: CertificateKind
  /** The entry whose place it takes. */
  readonly like: Certified | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

const authoritiesMax = 100

export function NewCertificate({ kind, like, onClose, onDone }: NewCertificateProps) {
  const needsAuthority = kind.kind === 'ssh_host_certificate' || kind.kind === 'ssh_user_certificate'
  const authorities = useAnswer([needsAuthority], async (client) =>
    needsAuthority
      ? (await firstOf(client.sshCertificateAuthority.list({ limit: 100 }), authoritiesMax)).entries
      : [],
  )
  const title = kindTitle(kind.kind)
  return (
    <Answered answer={authorities}>
      {(known) =>
        needsAuthority && known.length === 0 ? (
          <Empty>
            <p>An authority must sign it, and there is none: add an SSH CA first.</p>
          </Empty>
        ) : (
          <ResourceForm
            key={like?.id}
            title={
              like === undefined ? `Add: ${title}` : `A new one in place of “${like.description || like.id}”`
            }
            fields={fieldsOf(kind, known, like)}
            submit={like === undefined ? 'Add' : 'Make the new one'}
            onClose={onClose}
            send={async (body) => {
              await add(kind, like, body)
              onClose()
              onDone()
            }}
          />
        )
      }
    </Answered>
  )
}

function fieldsOf(
  kind: CertificateKind,
  authorities: readonly Certified[],
  like: Certified | undefined,
): readonly FormField[] {
  const form = kind.form(authorities)
  if (like === undefined) return form
  return [...formLike(form, like), ...(kind.kind === 'tls_certificate' ? [domainsField] : [])]
}

/** Adds it, then moves the domains. If these stay with the old one, it is added all the same, and a notice says why. */
async function add(
  kind: CertificateKind,
  like: Certified | undefined,
  { domains, ...body }: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { id, refused_by: refusal } = await kind
    .operations(api)
    .create({ ...body, ...(like?.metadata && { metadata: like.metadata }) })
  const refused = refusal ? ` Some clients refuse it: ${refusal}` : ''
  notify({ kind: 'good', text: `The ${kindTitle(kind.kind)} was added.${refused}` })
  if (domains === 'move' && like !== undefined)
    await act(movedText, (client) => moveDomains(client, like.id, id))
}

function movedText(count: number): string {
  if (count === 0) return 'No domain used the old one.'
  return count === 1 ? 'A domain uses the new one now.' : `${count} domains use the new one now.`
}
