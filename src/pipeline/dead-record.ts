/** A bad record as it goes to the dead letters: its original bytes, and where they came from. */
import { payloadHeadroomBytes } from '../core/limits.js'
import { recordsStream } from '../ingest/streams.js'
import type { BadRecord } from './process-record.js'

const reasonCharsMax = 500

/** Header values are one line of printable text. */
const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, reasonCharsMax)

export function deadRecord(
  { bytes, line, reason }: BadRecord,
  sequence: number,
  payloadBytesMax: number,
): { data: Uint8Array; headers: Record<string, string> } {
  const room = payloadBytesMax - payloadHeadroomBytes
  const headers: Record<string, string> = {
    'Weir-Reason': headerText(reason),
    'Weir-Stream': recordsStream,
    'Weir-Sequence': String(sequence),
    'Weir-Line': String(line),
  }
  if (bytes.length <= room) return { data: bytes, headers }
  return {
    data: bytes.subarray(0, room),
    headers: { ...headers, 'Weir-Original-Size': String(bytes.length) },
  }
}
