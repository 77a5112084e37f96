/** The certificate of a domain: which it is, when it expires, and the choice of another. */
import { useSignal } from '@preact/signals'
import type { Resource } from '../../../client/kinds.js'
import { act } from '../../data/asking/api.js'
import { EditButton } from '../../parts/button.js'
import { ExpiryWord } from '../../parts/expiry-word.js'
import { ChoiceField } from '../../parts/forms/fields.js'
import { Link } from '../../parts/link.js'

type Domain = Resource<'domain'>
export type Certificate = Resource<'tlsCertificate'>

/** What a domain is shown with. */
export interface Certified {
  readonly domain: Domain
  readonly certificate: Certificate | undefined
}

export function CertificateCell({ entry: { domain, certificate } }: { readonly entry: Certified }) {
  if (domain.certificate == null)
    return (
      <span class="quiet">
        {domain.certificate_management_policy == null ? 'none' : 'managed: not issued by Weir'}
      </span>
    )
  return (
    <Link to={['certificates', domain.certificate.id]}>
      {certificate?.description || certificate?.subject_common_name || domain.certificate.id}
    </Link>
  )
}

export function Expires({ entry: { domain, certificate } }: { readonly entry: Certified }) {
  if (certificate !== undefined)
    return <ExpiryWord from={certificate.not_before} until={certificate.not_after} />
  return <span class="quiet">{domain.certificate == null ? '–' : 'see the certificate'}</span>
}

export const certificateChoices = (certificates: readonly Certificate[]): (readonly [string, string])[] => [
  ['', 'none'],
  ...certificates.map((each) => [each.id, each.description || each.subject_common_name || each.id] as const),
]

interface CertificateChoiceProps {
  readonly domain: Domain
  readonly certificates: readonly Certificate[]
  readonly again: () => void
}

export function CertificateChoice({ domain, certificates, again }: CertificateChoiceProps) {
  const present = domain.certificate?.id ?? ''
  const chosen = useSignal(present)
  const save = async (): Promise<void> => {
    const certificate_id = chosen.value === '' ? null : chosen.value
    if (
      await act(`The certificate of ${domain.domain} is changed.`, (client) =>
        client.domain.update(domain.id, { certificate_id }),
      )
    )
      again()
  }
  return (
    <div class="stack">
      <ChoiceField
        label="Use another certificate"
        value={chosen.value}
        onChange={(id) => {
          chosen.value = id
        }}
        choices={certificateChoices(certificates)}
      />
      <div>
        <EditButton onClick={save} isDisabled={chosen.value === present}>
          Save
        </EditButton>
      </div>
    </div>
  )
}
