/** The parts of a pulled message's acknowledgement subject, in the forms that servers write (ADR-15 of NATS). */
import type { JsMsg } from '@nats-io/jetstream'
import t from 'tap'
import { pulled } from '../../../src/ground/nats/pulled-message.js'

const subject = Buffer.from('weir.records.eu')
const messageWith = (reply: string): JsMsg =>
  ({
    data: Buffer.from('{}'),
    msg: { _msg: { subject, reply: Buffer.from(reply), hdr: -1 }, _rdata: Buffer.from('{}') },
  }) as unknown as JsMsg

const delivery = '3.41.57.1790000000123999999.12'
const forms = {
  'without a domain': `$JS.ACK.WEIR_RECORDS.pipelines.${delivery}`,
  'with a domain': `$JS.ACK._.hash.WEIR_RECORDS.pipelines.${delivery}`,
  'with a domain and a random end': `$JS.ACK.eu.hash.WEIR_RECORDS.pipelines.${delivery}.x8Ty`,
}

for (const [form, reply] of Object.entries(forms))
  t.test(`a message ${form}`, async (t) => {
    t.match(pulled(messageWith(reply)), {
      subject: 'weir.records.eu',
      deliveries: 3,
      sequence: 41,
      // Cut, not rounded: a time is never in the future.
      storedAtMs: 1_790_000_000_123,
      pending: 12,
    })
  })

t.test('a message that no consumer delivered', async (t) => {
  t.throws(() => pulled(messageWith('_INBOX.abc')), { message: /acknowledgement subject.*_INBOX\.abc/ })
  const wrong = {
    'too short': '$JS.ACK.WEIR_RECORDS.pipelines.3.41',
    'between both forms': `$JS.ACK._.S.pipelines.${delivery}`,
  }
  for (const [how, reply] of Object.entries({
    ...wrong,
    'another service': forms['without a domain'].replace('ACK', 'API'),
  })) {
    pulled(messageWith(forms['with a domain']))
    t.throws(() => pulled(messageWith(reply)), { message: /acknowledgement subject/ }, how)
  }
})
