/** A server that repeats the request's secrets: no form of them comes out in a fault, a receipt or a finding. */
import t from 'tap'
import { hiding, withHiddenHead } from '../../../src/delivery/outgoing/hidden-secrets.js'

const secret = 'sup3r"sécret value/1234'
const hide = hiding([secret, 'short'])

t.test('every form in which servers write a text is hidden', async (t) => {
  const cases: [name: string, text: string][] = [
    ['as it is', secret],
    ['in JSON', JSON.stringify({ 'x-key': secret })],
    ['in a URL', `https://h/?k=${encodeURIComponent(secret)}`],
    ['in a form', encodeURIComponent(secret).replaceAll('%20', '+')],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in the base64 of URLs', Buffer.from(secret).toString('base64url')],
  ]
  for (const [name, text] of cases) {
    t.notMatch(hide(text), 'sup3r', name)
    t.notMatch(hide(text), '1234', name)
    t.match(hide(`before ${text} after`), /^before .*….* after$/, name)
  }
  t.equal(hide('nothing of it'), 'nothing of it')
})

t.test('the head of an answer repeats nothing', async (t) => {
  const answer = {
    status: 302,
    statusText: `No ${secret}`,
    headers: { location: `https://h/${encodeURIComponent(secret)}`, 'x-request-id': 'short' },
    body: Buffer.from(''),
    extent: 'whole' as const,
  }
  t.match(withHiddenHead(answer, hide), {
    statusText: 'No …',
    headers: { location: 'https://h/…', 'x-request-id': '…' },
  })
})
