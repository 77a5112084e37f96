/** Units of durations. A program may be set to any of them, and its numbers don't say to which. */
export const durationUnits = ['seconds', 'ms', 'nano'] as const
export type DurationUnit = (typeof durationUnits)[number]
