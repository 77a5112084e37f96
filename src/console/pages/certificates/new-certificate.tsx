/** The form that adds a certificate, or one that takes the place of another. */
import { api, firstOf, useAnswer } from '../../data/api.js'
import { notify } from '../../data/notices.js'
import { kindTitle } from '../../data/resource-kinds.js'
import { ResourceForm } from '../../parts/resource-form.js'
import { Answered, Empty } from '../../parts/states.js'
import { type CertificateKind, type Certified, formLike } from './certificate-kinds.js'

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
            fields={like === undefined ? kind.form(known) : formLike(kind.form(known), like)}
            submit={like === undefined ? 'Add' : 'Make the new one'}
            onClose={onClose}
            send={async (body) => {
              await kind
                .operations(api)
                .create({ ...body, ...(like?.metadata && { metadata: like.metadata }) })
              notify({ kind: 'good', text: `The ${title} was added.` })
              onClose()
              onDone()
            }}
          />
        )
      }
    </Answered>
  )
}
