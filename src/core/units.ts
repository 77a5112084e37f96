/** Numbers with a unit, as settings and query parameters have them: `90s`, `512MiB`. */

/** Reads a number with a unit of the table; undefined if the text is not one. */
export const units = (table: Readonly<Record<string, number>>) => (text: string) => {
  const [, digits, unit] = /^(\d{1,12}) ?([a-z]+)$/i.exec(text) ?? []
  const factor = unit === undefined ? undefined : table[unit.toLowerCase()]
  return factor === undefined ? undefined : Number(digits) * factor
}

const minuteMs = 60_000
const durationUnits = { d: 24 * 60 * minuteMs, h: 60 * minuteMs, m: minuteMs, s: 1000, ms: 1 }

/** The milliseconds of `90s`, `30m`, `72h` or `7d`. */
export const durationMs = units(durationUnits)

/** The same with the largest unit that fits: `7d`. */
export function durationText(ms: number): string {
  const [unit, factor] = Object.entries(durationUnits).find(([, each]) => ms % each === 0) ?? ['ms', 1]
  return `${ms / factor}${unit}`
}
