/** A decision log of many rows, which ClickHouse makes itself in some seconds. */
import type { Clickhouse } from '../../../src/management/store/clickhouse/clickhouse.js'

export const filledAccount = 'ac_01KAJ5T2Q8XN4RB6TZ5CDEFGHJ'

interface Filling {
  readonly rows: number
  readonly sinceMs: number
  readonly untilMs: number
}

const statementTimeoutMs = 120_000
/** Rows of one statement: a few hours of the log. */
const rowsPerInsert = 500_000

/**
 * Rows of one account, evenly over the time: 200,000 clients in 2,000 networks, of which some come often, 40 edges, 8
 * policies, 50 rules, 60 countries. One in twenty is blocked, one in a hundred denied.
 */
export async function fillLog(clickhouse: Clickhouse, { rows, sinceMs, untilMs }: Filling): Promise<void> {
  for (let from = 0; from < rows; from += rowsPerInsert) {
    const count = Math.min(rowsPerInsert, rows - from)
    await clickhouse.command(
      `INSERT INTO decisions (account_id, time, record_id, type, edge_id, route_id, server_name, server_port, client_ip, country,
asn, decision, decided_by, decided_by_id, policy, rule_id, revision, bytes_in, bytes_out, sequence, line)
WITH cityHash64(number) AS hash, toUInt32(pow((hash % 1000000) / 1000000, 3) * 200000) AS client,
 multiIf(number % 20 = 0, 1, number % 100 = 1, 2, 0) AS word, concat('edgtcp_', leftPad(toString(client % 40), 26, '0')) AS edge
SELECT '${filledAccount}', fromUnixTimestamp64Milli(toInt64({since:Int64} + number * {step:Float64}), 'UTC'), hex(hash),
 'tcp_connection', edge, '', concat('host-', toString(client % 40), '.example'), 22,
 toIPv6(IPv4NumToString(toUInt32(184549376 + client))),
 char(65 + client % 60 % 26, 65 + intDiv(client % 60, 26)), toUInt32(1000 + intDiv(client, 100)),
 ['allow', 'block', 'deny'][word + 1], ['none', 'ip_restriction', 'traffic_policy'][word + 1], if(word = 0, '', edge),
 if(word = 2, concat('policy ', toString(client % 8)), ''), if(word = 1, concat('ipr_', leftPad(toString(client % 50), 26, '0')), ''), 7,
 hash % 10000, hash % 100000, intDiv(number, 100), 1 + number % 100
FROM numbers({from:UInt64}, {count:UInt64})`,
      { since: sinceMs, step: (untilMs - sinceMs) / rows, from, count },
      statementTimeoutMs,
    )
  }
  // As ClickHouse has done with the many inserts of a log that is some hours old.
  await clickhouse.command('OPTIMIZE TABLE decisions FINAL', {}, statementTimeoutMs)
}
