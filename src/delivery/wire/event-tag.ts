/**
 * Tags of events: 32 bits that stand for the id of an event in the decision log, where ids would take most of the room.
 * The time of the event, which narrows a search, makes them unique.
 *
 * The id of a traffic event is `ev_`, 32 hex digits that all events of its record share, and 16 that differ. Its tag is
 * the first eight of both, as numbers that are combined by exclusive or: cheap here, and easy to compute in SQL. The tag
 * of another id is a hash of it, FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/).
 */
const quote = 0x22
const prefixChars = 3
const recordDigits = 32
const trafficIdChars = prefixChars + recordDigits + 16
const tagDigits = 8
const offsetBasis = 0x811c9dc5
const prime = 0x01000193

/** The tag of the id that begins there and ends before a quotation mark. */
export function tagAt(bytes: Uint8Array, start: number): number {
  const end = endOf(bytes, start)
  return end === start + trafficIdChars ? trafficTag(bytes, start + prefixChars) : otherTag(bytes, start, end)
}

/** The end of the id that begins at `start`. For so few bytes, this is faster than `indexOf`. */
function endOf(bytes: Uint8Array, start: number): number {
  let end = start
  while (end < bytes.length && bytes[end] !== quote) end += 1
  return end
}

export const tagOf = (eventId: string): number => tagAt(Buffer.from(`${eventId}"`), 0)

function trafficTag(bytes: Uint8Array, start: number): number {
  let tag = 0
  for (let index = start; index < start + tagDigits; index += 1)
    tag = (tag << 4) | (digitOf(bytes[index]!) ^ digitOf(bytes[index + recordDigits]!))
  return tag >>> 0
}

/** The value of a hex digit. In ASCII, letters have a bit that digits do not have, and count from 1. */
const digitOf = (char: number): number => (char & 0xf) + 9 * (char >> 6)

function otherTag(bytes: Uint8Array, start: number, end: number): number {
  let tag = offsetBasis
  for (let index = start; index < end; index += 1) tag = Math.imul(tag ^ bytes[index]!, prime)
  return tag >>> 0
}
