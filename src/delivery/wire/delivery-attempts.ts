/**
 * The last requests to a destination, and what AWS bills for them: deliverers keep them in memory and answer the API, which
 * shows them.
 */

/** Wire names: these are members of `GET /event_destinations/{id}/attempts`. */
export interface DeliveryAttempt {
  /** When the request was answered, or failed: RFC 3339 with milliseconds. */
  readonly at: string
  readonly took_ms: number
  readonly outcome: 'delivered' | 'partial' | 'failed'
  readonly events: number
  /** Events that the service accepted. */
  readonly accepted: number
  /** Size of the events. */
  readonly bytes: number
  /** AWS's. */
  readonly request_id: string | null
  readonly error: { readonly code: string; readonly msg: string } | null
}

/** Accepted in a time that ends now. */
export interface Usage {
  /** Milliseconds since the epoch. */
  readonly sinceMs: number
  readonly events: number
  readonly records: number
  /** As the service counts them, overhead included. */
  readonly bytes: number
  /** By the name of the unit. */
  readonly units: Readonly<Record<string, UnitCount>>
}

interface UnitCount {
  readonly count: number
  /** As many as there would have been with the events of each request packed. */
  readonly packed: number
}

/** Attempts that deliverers keep of a destination, and that an answer has. */
export const attemptsMax = 100

/**
 * The last success and the last error of a destination: part of its status, and kept in the books across restarts. Wire
 * names: these are members of `GET /event_destinations/{id}/status`. Times are RFC 3339 with milliseconds.
 */
export interface LastOutcomes {
  readonly last_success_at: string | null
  readonly last_error: { readonly at: string; readonly code: string; readonly msg: string } | null
}

export const noOutcomes: LastOutcomes = { last_success_at: null, last_error: null }

/** The later success and the later error of both. */
export function laterOutcomes(a: LastOutcomes, b: LastOutcomes): LastOutcomes {
  // All times have the same format, so their text order is their time order.
  const isSuccessOfB = (a.last_success_at ?? '') < (b.last_success_at ?? '')
  const isErrorOfB = (a.last_error?.at ?? '') < (b.last_error?.at ?? '')
  return {
    last_success_at: (isSuccessOfB ? b : a).last_success_at,
    last_error: (isErrorOfB ? b : a).last_error,
  }
}
