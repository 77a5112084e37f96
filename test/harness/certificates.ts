/** The certificates and private keys of `fixtures/certificates`, as PEM text. */
import { readFileSync } from 'node:fs'

export const fixturePem = (name: string): string => readFileSync(`fixtures/certificates/${name}.pem`, 'utf8')

/** The body that uploads a certificate and its private key. */
export const certificateBody = (certificate: string, key = `${certificate}.key`) => ({
  certificate_pem: fixturePem(certificate),
  private_key_pem: fixturePem(key),
})
