/** The key of an SSH authority that a request describes. */
import t from 'tap'
import { chosenKey, parseCurve } from '../../../../src/words/resource/fields/ssh-authority-key.js'
import { refusalOf } from '../lookups.js'

t.test('names of curves', async (t) => {
  const cases = [
    ['nistp256', 'nistp256'],
    ['P-256', 'nistp256'],
    ['p384', 'nistp384'],
    ['NISTP-521', 'nistp521'],
    ['nistp224', undefined],
    ['secp256r1', undefined],
    ['256', undefined],
    ['', undefined],
  ] as const
  for (const [text, curve] of cases) t.equal(parseCurve(text), curve, text)
})

t.test('type, size and curve', async (t) => {
  const cases: [
    type: 'rsa' | 'ecdsa' | 'ed25519',
    size: number | null,
    curve: string | null,
    want: object | RegExp,
  ][] = [
    ['ed25519', null, null, { type: 'ed25519' }],
    ['ed25519', 256, null, /Ed25519 keys have one size/],
    ['ed25519', null, 'nistp256', /allowed only with the "private_key_type" "ecdsa"/],
    ['rsa', null, null, { type: 'rsa', bits: 2048 }],
    ['rsa', 4096, null, { type: 'rsa', bits: 4096 }],
    ['rsa', 1024, null, /2048 or 4096 bits/],
    ['rsa', 2048, 'nistp256', /allowed only with/],
    ['ecdsa', null, null, { type: 'ecdsa', curve: 'nistp256' }],
    ['ecdsa', null, 'P-521', { type: 'ecdsa', curve: 'nistp521' }],
    ['ecdsa', 384, null, { type: 'ecdsa', curve: 'nistp384' }],
    ['ecdsa', 384, 'p384', { type: 'ecdsa', curve: 'nistp384' }],
    ['ecdsa', 384, 'p256', /leave one out, or make them agree/],
    ['ecdsa', 128, null, /256, 384 or 521 bits/],
  ]
  for (const [private_key_type, key_size, elliptic_curve, want] of cases) {
    const choose = () => chosenKey({ private_key_type, key_size, elliptic_curve })
    const name = `${private_key_type} ${key_size} ${elliptic_curve}`
    if (want instanceof RegExp) t.match(refusalOf(choose), want, name)
    else t.strictSame(choose(), want, name)
  }
})
