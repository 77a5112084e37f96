/** The last success and the last error of a destination: part of its status, and kept in the books across restarts. */

/** Wire names: these are members of `GET /event_destinations/{id}/status`. Times are RFC 3339 with milliseconds. */
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
