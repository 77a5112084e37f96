/**
 * Answers of PutRecords and PutRecordBatch, which have hundreds of results. If none failed, the first one alone says
 * something: the others are not read. All other answers are left to the SDK.
 */
import { membersOf } from './lean-client.js'

const comma = 0x2c
const closingBrace = 0x7d

/**
 * Reads an answer that says that no record failed: of its results, the first alone. Undefined for any other answer; throws
 * if it is malformed. `failedCount` names the count of failed records.
 */
export function readAccepted<Answer extends object>(
  body: Buffer,
  failedCount: keyof Answer & string,
): Partial<Answer> | undefined {
  const noneFailed = `"${failedCount}":0`
  const found = body.indexOf(noneFailed)
  const next = body[found + noneFailed.length]
  if (found === -1 || (next !== comma && next !== closingBrace)) return undefined
  return membersOf<Answer>(withFirstResult(body))
}

function withFirstResult(body: Buffer): string {
  const firstEnd = body.indexOf('},{')
  const lastEnd = body.lastIndexOf('}]')
  if (firstEnd === -1 || lastEnd < firstEnd) return body.toString()
  return body.toString('utf8', 0, firstEnd) + body.toString('utf8', lastEnd)
}
