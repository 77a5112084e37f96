/** Advice is in the words of the kind of destination. */
import t from 'tap'
import { adviceFor } from '../../src/shape/delivery/delivery-advice.js'

const row = (target: object) => ({ id: 'ed_1', account_id: 'ac_1', target }) as never
const http = row({ http: { url: 'https://example.com' } })
const kafka = row({ kafka: { topic: 'traffic' } })
const kinesis = row({ kinesis: { stream_arn: 'x' } })
const aws = /role|trust policy|shard|sign|disabled|AWS/

t.test('a kind that is not at AWS is told nothing of AWS', (t) => {
  for (const destination of [http, kafka])
    for (const cause of ['throttle', 'transient', 'credentials', 'configuration', 'poison'])
      t.notMatch(adviceFor(cause, destination), aws, cause)
  t.match(adviceFor('credentials', http), /token, password or header/)
  t.match(adviceFor('throttle', http), /429.*Retry-After/)
  t.match(adviceFor('credentials', kinesis), /trust policy of the role/)
  t.match(adviceFor('throttle', kinesis), /add shards/)
  t.end()
})

t.test('no advice names a request of the API for what a button does', (t) => {
  for (const destination of [http, kafka, kinesis])
    for (const cause of ['credentials', 'configuration']) t.notMatch(adviceFor(cause, destination), /POST/)
  t.end()
})
