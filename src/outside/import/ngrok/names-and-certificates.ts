/** Backends, addresses and domains that are reserved, and certificates for TLS. */
import type { ImportRun } from '../draft/import-run.js'
import type { Item } from '../draft/item.js'
import { describedIn } from './ip-policies.js'

/** Weir knows tunnels by their labels; all kinds of backends are lists of the same name. */
export function readBackend(run: ImportRun, item: Item): void {
  if (!item.id.startsWith('bkdtg_')) {
    item.refuse('Weir knows groups of tunnels by their labels alone: your ingress has the other backends.')
    return
  }
  // Tunnels that run at present.
  item.get('tunnels')
  run.account.add('tunnelGroupBackend', item, item.id, { ...describedIn(item), labels: item.get('labels') })
}

const factsOfCertificates = [
  ...['subject_common_name', 'not_before', 'not_after', 'key_usages', 'extended_key_usages'],
  ...[
    'subject_alternative_names',
    'private_key_type',
    'issuer_common_name',
    'serial_number',
    'subject_country',
  ],
  ...['subject_organization', 'subject_organizational_unit', 'subject_locality', 'subject_province'],
]

/** They are read from the certificate again. */
const skipFacts = (item: Item): void => {
  for (const fact of factsOfCertificates) item.get(fact)
}

export function readCertificateAuthority(run: ImportRun, item: Item): void {
  skipFacts(item)
  run.account.add('certificateAuthority', item, item.id, { ...describedIn(item), ca_pem: item.get('ca_pem') })
}

export function readTlsCertificate(run: ImportRun, item: Item): void {
  skipFacts(item)
  if (item.text('issued_at') !== undefined) {
    item.refuse(
      'ngrok had it issued and does not give out its private key: have one issued for your ingress.',
    )
    return
  }
  const body = { ...describedIn(item), certificate_pem: item.get('certificate_pem') }
  run.account.add('tlsCertificate', item, item.id, body)
}

export function readReservedAddr(run: ImportRun, item: Item): void {
  const addr = item.text('addr') ?? ''
  const body = { ...describedIn(item), region: item.get('region') }
  item.get('endpoint_configuration')
  if (!run.account.add('reservedAddr', item, item.id, body, { addr })) return
  run.reservedAddresses.set(addr, item.id)
  item.change(`Its address ${addr} is ngrok's: Weir draws another one.`)
}

export function readReservedDomain(run: ImportRun, item: Item): void {
  const certificate = item.reference('certificate')
  const isTaken = certificate !== undefined && run.account.has(certificate)
  const policy = isTaken ? undefined : item.get('certificate_management_policy')
  for (const member of ['certificate_management_status', 'acme_challenge_cname_target']) item.get(member)
  const body = {
    ...describedIn(item),
    domain: item.get('domain'),
    region: item.get('region'),
    certificate_id: isTaken ? certificate : undefined,
    certificate_management_policy: policy,
  }
  if (!run.account.add('domain', item, item.id, body)) return
  if (certificate !== undefined && !isTaken) item.change(`Its certificate ${certificate} is not taken.`)
  if (policy !== undefined) item.change('Weir keeps the request for a managed certificate, and obtains none.')
  const target = item.text('cname_target')
  item.change(
    target === undefined
      ? "It belongs to ngrok, so it can't lead to your ingress: take a domain of your own."
      : `Its CNAME record names ${target}: point it to your ingress.`,
  )
}
