/** The context that the sealed values of each kind are bound to. */
import { secretBelongsTo } from './destination-secrets.js'
import { eventDestination } from './event-destination.js'
import { headersBelongTo } from './fields/ip-list-source.js'
import { ipList } from './ip-list.js'
import type { Row } from './kind/define.js'
import { authorityKey, sshCertificateAuthority } from './ssh-certificate-authority.js'
import { privateKeyBelongsTo, tlsCertificate } from './tls-certificate.js'

type Identity = Pick<Row, 'account_id' | 'id'>

/** By kind; a kind with a sealed field has one of these, and one field. */
export const sealedOwners: Readonly<Record<string, (row: Identity) => string>> = {
  [eventDestination.kind]: secretBelongsTo,
  [ipList.kind]: headersBelongTo,
  [tlsCertificate.kind]: privateKeyBelongsTo,
  [sshCertificateAuthority.kind]: (row) => authorityKey(row).belongsTo,
}
