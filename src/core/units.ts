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

/** Writes a number with the first unit of the table that leaves a whole number. */
export const inUnits = (table: Readonly<Record<string, number>>) => (value: number) => {
  const [unit, factor] = Object.entries(table).find(([, each]) => value % each === 0) ?? ['', 1]
  return `${value / factor}${unit}`
}

/** The same with the largest unit that fits: `7d`. */
export const durationText = inUnits(durationUnits)
