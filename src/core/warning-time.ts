const longestMs = 6 * 60 * 60_000

/** How long before their removal for age dead letters and events are announced. */
export const warningMs = (retentionMs: number): number => Math.min(longestMs, Math.floor(retentionMs / 2))
