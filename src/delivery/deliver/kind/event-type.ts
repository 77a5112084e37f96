/** The type of an event, from its bytes: some services file events by it. */

/** Every event begins with its id and its type, and neither has a character that JSON escapes. */
const head = /^\{"event_id":"[^"\\]*","event_type":"(\w[\w.-]{0,127})"/
/** More than both have together. */
const headBytesMax = 512

/** `data`: its JSON. Events that were not made by Weir may have no type. */
export const eventTypeIn = (data: Buffer): string =>
  head.exec(data.toString('latin1', 0, headBytesMax))?.[1] ?? 'unknown'
