/** An SSH public key as fields of a resource. */
import { complaintOf } from '../../../ground/core/errors.js'
import { oneOf, ruled, Type } from '../../../ground/core/schema.js'
import {
  checkedSshPublicKey,
  parseSshPublicKey,
  sshAlgorithms,
  sshKeyTypes,
  sshPublicKeyText,
} from '../../../ground/pki/ssh-public-key.js'
import { assigned, required } from './fields.js'

/** The longest line that sshd(8) guarantees to read. */
const sshPublicKeyCharsMax = 8192

const publicKey = ruled(
  Type.String({
    maxLength: sshPublicKeyCharsMax,
    description: `The line of a .pub file, its comment included: ${sshAlgorithms.join(', ')}.`,
  }),
  (text) => complaintOf(parseSshPublicKey(text)),
)

/** A key that a client sends; extra white space is removed. */
export const sshPublicKeyField = {
  ...required(publicKey, { atCreation: true }),
  complete: (text: string) => sshPublicKeyText(checkedSshPublicKey(text)),
}

export const sshKeyTypeField = assigned(oneOf(sshKeyTypes, 'Type of the public key.'))
