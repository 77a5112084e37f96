/** Authorities that sign SSH certificates. Their private keys are made here, kept sealed, and never shown. */
import { documented, oneOf, ruled, Type } from '../core/schema.js'
import { defineResource, type SealedSecret } from './define.js'
import { exampleSshKey } from './examples.js'
import { assigned, defaulted, described, sealed, unseen, writable } from './fields.js'
import { chosenKey, makeKeyPair, parseCurve } from './ssh-authority-key.js'
import { sshKeyTypeField } from './ssh-key-fields.js'
import { sshCurveNames, sshKeyTypes } from './ssh-public-key.js'

const keySize = Type.Integer({
  description: 'Bits: of an RSA key 2048 or 4096, of an ECDSA key 256, 384 or 521.',
  ...documented({ enum: [256, 384, 521, 2048, 4096] }),
})

const curve = ruled(
  Type.String({
    maxLength: 16,
    description: `Of an ECDSA key: ${sshCurveNames.join(', ')}; "P-256" will do.`,
  }),
  (text) => (parseCurve(text) === undefined ? `${sshCurveNames.join(', ')} are allowed` : undefined),
)

const kind = 'ssh_certificate_authority'
const secret = 'sealed_private_key'

export const sshCertificateAuthority = defineResource({
  kind,
  idPrefix: 'sshca_',
  path: '/ssh_certificate_authorities',
  listName: 'ssh_certificate_authorities',
  title: 'SSH certificate authority',
  about: 'Signs SSH certificates. Its private key is made here and never shown.',
  example: {
    description: 'hosts',
    private_key_type: 'ed25519',
    public_key: exampleSshKey,
    key_type: 'ed25519',
  },
  audit: 'ssh_certificate_authority',
  keptWhileNamed: true,
  fields: {
    ...described,
    // Said when an authority is made, and never shown: what came of it is told by its public key.
    private_key_type: unseen(defaulted(oneOf(sshKeyTypes), 'ed25519', { atCreation: true })),
    key_size: unseen(writable(keySize, { atCreation: true })),
    elliptic_curve: unseen(writable(curve, { atCreation: true })),
    public_key: assigned(Type.String({ description: 'As in a .pub file.' })),
    key_type: sshKeyTypeField,
    [secret]: sealed(),
  },
  async prepare(draft, tools) {
    const { publicKey, privateKeyPem } = await makeKeyPair(chosenKey(draft), tools)
    const { belongsTo } = authorityKey(draft)
    return { ...draft, ...publicKey, [secret]: tools.seal(privateKeyPem, belongsTo) }
  },
})

/** Where an authority's private key is found (PKCS #8, PEM). */
export const authorityKey = ({ account_id, id }: { account_id: string; id: string }): SealedSecret => ({
  kind,
  id,
  field: secret,
  belongsTo: `${account_id}/${id}/private_key`,
})
