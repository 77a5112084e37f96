/** Answers of servers: HTTP, ClickHouse, NATS, and metrics in text. */
import { parseArn } from '../../../src/delivery/deliver/aws/arn.js'
import { faultOfAnswer } from '../../../src/delivery/deliver/clickhouse/clickhouse-faults.js'
import { outcomeOfBulk } from '../../../src/delivery/deliver/http/bulk-answer.js'
import { brokenPattern } from '../../../src/delivery/deliver/s3/object-key.js'
import { deadLetterTypeOf } from '../../../src/delivery/wire/dead-letter.js'
import { publishedSubject } from '../../../src/delivery/wire/partitions.js'
import { deliveryOf } from '../../../src/ground/nats/pulled-message.js'
import { NotNatsError, ServerMessages } from '../../../src/ground/nats/server-messages.js'
import { supports } from '../../../src/ground/nats/server-versions.js'
import { familiesIn } from '../../../src/management/telemetry/prometheus-text.js'
import { expectSame, expectThat, type FuzzedParser, type Outcome, read, tried } from '../engine/parser.js'

const answerOf = (bytes: Buffer) => ({ status: 200, headers: {}, body: bytes, extent: 'whole' }) as never

const answers: FuzzedParser = {
  name: 'answers of servers',
  sources: [
    'delivery/deliver/http/bulk-answer.ts',
    'delivery/deliver/clickhouse/clickhouse-faults.ts',
    'delivery/deliver/aws/arn.ts',
    'delivery/deliver/s3/object-key.ts',
  ],
  seeds: () => [
    '{"items":[{"create":{"status":201}},{"create":{"status":400,"error":{"type":"t","reason":"r"}}}]}',
    'Code: 60. DB::Exception: Table default.x does not exist. (UNKNOWN_TABLE) (version 26.7.2.1)',
    'Code: 1. DB::Exception: Code: 60. DB::Exception: x (A_B) ',
    'arn:aws:kinesis:us-east-1:123456789012:stream/name',
    'weir/{kind}/{yyyy}/{name}.gz',
  ],
  words: ['DB::Exception: ', 'Code: 1. ', ' (ABC)', '"items":[', '"status":', '{name}', 'arn:aws:'],
  // The form of an error takes the square of a bounded length.
  msPerKiB: 40,
  read: (bytes) => {
    const text = bytes.toString()
    const outcome = outcomeOfBulk(answerOf(bytes), 2, (shown) => shown)
    const fault = faultOfAnswer(500, text)
    expectThat(fault.msg.length < 4_096, `a fault has ${fault.msg.length} characters`)
    brokenPattern(text)
    return read([outcome, fault, parseArn(text)])
  },
}

const metrics: FuzzedParser = {
  name: 'metrics in text',
  sources: ['management/telemetry/prometheus-text.ts'],
  seeds: () => [
    '# HELP a_total It \\n is.\n# TYPE a_total counter\na_total{b="c\\"d",e="f"} 12\na_total 1e3\n',
    '# TYPE h histogram\nh_bucket{le="+Inf"} 3\nh_sum 1\nh_count 3\n',
  ],
  words: ['# HELP ', '# TYPE ', '{a="', '",', '} ', '+Inf', '\\', '_bucket'],
  read: (bytes) => tried(() => familiesIn(bytes.toString()), Error),
}

const reply = '$JS.ACK.WEIR_RECORDS.pipelines.1.41.57.1790000000123999999.12'

function serverMessages(chunks: readonly Buffer[]): Outcome {
  return tried(() => {
    const messages = new ServerMessages()
    const found: string[] = []
    for (const chunk of chunks) {
      messages.add(chunk)
      for (let next = messages.take(); next !== undefined; next = messages.take())
        found.push(next.bytes.toString('latin1'))
    }
    return found
  }, NotNatsError)
}

const nats: FuzzedParser = {
  name: 'messages of a NATS server',
  sources: [
    'ground/nats/server-messages.ts',
    'ground/nats/pulled-message.ts',
    'ground/nats/server-versions.ts',
    'delivery/wire/partitions.ts',
    'delivery/wire/dead-letter.ts',
  ],
  seeds: () => [
    'INFO {"server_id":"x","version":"2.10.1"} \r\nPING\r\n+OK\r\nMSG a.b 1 5\r\nhello\r\n',
    `HMSG a.b 7 ${reply} 12 14\r\nNATS/1.0\r\n\r\nhi\r\n-ERR 'no'\r\n`,
    reply,
    'v2.9.15-RC.1',
    'weir.records.eu.node-1.12',
  ],
  words: ['MSG a 1 ', 'HMSG a 1 ', '\r\n', 'INFO {', '-ERR ', '$JS.ACK.', '.1.2.3.4.5', '999999999', ' '],
  keptPerByte: 100,
  read: (bytes) => {
    const text = bytes.toString('latin1')
    supports(text, 'syncAlways')
    publishedSubject(text)
    deadLetterTypeOf(text)
    // The server's own: that numbers are digits is not looked at, for each message has one.
    tried(() => deliveryOf(bytes, 0, bytes.length), Error)
    const whole = serverMessages([bytes])
    const half = Math.floor(bytes.length / 2)
    const cut = serverMessages([bytes.subarray(0, half), bytes.subarray(half)])
    expectSame(cut, whole, 'messages that come in parts')
    return whole
  },
}

export const answerParsers: readonly FuzzedParser[] = [answers, metrics, nats]
