/** When the packs of a destination are stored although they are not full. */

/**
 * If no input waits, a pack is stored at once, but per destination no sooner than this after the previous one: a millisecond
 * for each destination that has events, or some for each input with packs of its own. So latency is low with few of them,
 * and NATS does not get thousands of small packs per second with many. A pack costs up to 3 ms of CPU from its pull to its
 * request, however few its events are: with so long a time for each input, several inputs have as many packs per second as
 * two, and with so long a time for each destination, a pipeline stores some thousand packs per second at most.
 */
const idleSpacing = { minMs: 150, perDestination: { ms: 1, maxMs: 1_000 }, perInput: { ms: 75, maxMs: 600 } }

/** How long a destination's packs are apart at least if no input waits. */
export const packSpacingMs = (inputs: number, destinations = 0): number => {
  const { minMs, perDestination, perInput } = idleSpacing
  const forDestinations = Math.min(perDestination.maxMs, perDestination.ms * destinations)
  const forInputs = inputs === 1 ? 0 : Math.min(perInput.maxMs, perInput.ms * inputs)
  return Math.max(minMs, forDestinations, forInputs)
}

/**
 * If input waits, a pack is stored at this age. Records then wait anyhow, and fuller packs let them wait for a shorter time:
 * what 1,000 destinations with 43 events per second each cost falls by up to a third. A message is acknowledged when the
 * last of its packs is stored, and NATS holds back others if too many are not acknowledged (`ackPendingMax` in
 * `pipeline.ts`, which all pipelines share): beyond so many messages here, packs don't wait longer than without a backlog.
 */
const age = { minMs: 400, perDestination: { ms: 5, maxMs: 5_000 }, messagesMax: 2_000 }

/** How old a destination's pack gets if input waits; so many messages have events in packs that are not stored. */
export function packAgeMs(spacingMs: number, destinations: number, messages: number): number {
  const { minMs, perDestination, messagesMax } = age
  const leastMs = Math.max(minMs, spacingMs)
  if (messages > messagesMax) return leastMs
  return Math.max(leastMs, Math.min(perDestination.maxMs, perDestination.ms * destinations))
}
