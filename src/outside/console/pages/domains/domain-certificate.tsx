/** The certificate of a domain: which it is, when it expires, and the choice of another. */
import { useSignal } from '@preact/signals'
import type { Client } from '../../../../words/client/client.js'
import type { Resource } from '../../../../words/client/kinds.js'
import { act, firstOf, useAnswer } from '../../data/asking/api.js'
import { ChoiceField } from '../../kit/forms/fields.js'
import { Link } from '../../kit/link.js'
import { EditButton } from '../../parts/edit-button.js'
import { ExpiryWord } from '../../parts/expiry.js'
import { Answered } from '../../parts/states.js'

type Domain = Resource<'domain'>
type Certificate = Resource<'tlsCertificate'>

/** A domain with its certificate, if that is one of those that are read. */
export interface CertifiedDomain extends Domain {
  readonly known?: Certificate | undefined
}

const certificatesMax = 500

export async function* certifiedDomains(
  domains: AsyncIterable<Domain>,
  certificates: AsyncIterable<Certificate>,
): AsyncGenerator<CertifiedDomain> {
  const { entries } = await firstOf(certificates, certificatesMax)
  const byId = new Map(entries.map((certificate) => [certificate.id, certificate]))
  for await (const domain of domains) yield { ...domain, known: byId.get(domain.certificate?.id ?? '') }
}

interface CertifiedProps {
  readonly domain: CertifiedDomain
}

const nameOf = ({ description, subject_common_name, id }: Certificate): string =>
  description || subject_common_name || id

export function CertificateCell({
  domain: { certificate, certificate_management_policy, known },
}: CertifiedProps) {
  if (certificate == null)
    return (
      <span class="quiet">
        {certificate_management_policy == null ? 'none' : 'managed: not issued by Weir'}
      </span>
    )
  return (
    <Link to={['certificates', certificate.id]}>{known === undefined ? certificate.id : nameOf(known)}</Link>
  )
}

export function Expires({ domain: { certificate, known } }: CertifiedProps) {
  if (known !== undefined) return <ExpiryWord from={known.not_before} until={known.not_after} />
  return <span class="quiet">{certificate == null ? '–' : 'see the certificate'}</span>
}

export async function certificateChoices(client: Client): Promise<readonly (readonly [string, string])[]> {
  const { entries } = await firstOf(client.tlsCertificate.list({ limit: 100 }), certificatesMax)
  return [['', 'none'], ...entries.map((each) => [each.id, nameOf(each)] as const)]
}

interface CertificateChoiceProps extends CertifiedProps {
  readonly again: () => void
}

export function CertificateChoice({ domain, again }: CertificateChoiceProps) {
  const choices = useAnswer([], certificateChoices)
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
    <Answered answer={choices}>
      {(known) => (
        <div class="stack">
          <ChoiceField
            label="Use another certificate"
            value={chosen.value}
            onChange={(id) => {
              chosen.value = id
            }}
            choices={known}
          />
          <div>
            <EditButton onClick={save} isDisabled={chosen.value === present}>
              Save
            </EditButton>
          </div>
        </div>
      )}
    </Answered>
  )
}
