/** Plural of an English noun, or of a name that ends in one. */
export function pluralOf(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`
  return /(s|x|ch)$/.test(noun) ? `${noun}es` : `${noun}s`
}

/** `a, b or c`. */
export const listed = (names: readonly string[], last: 'or' | 'and' = 'or'): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1)}`

const mebibyte = 1024 ** 2

/** A size in the largest unit that gives a whole number. */
export function sizeText(bytes: number): string {
  if (bytes % mebibyte ** 2 === 0) return `${bytes / mebibyte ** 2} TiB`
  return bytes % mebibyte === 0 ? `${bytes / mebibyte} MiB` : `${bytes / 1024} KiB`
}

const sizeUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** A size that was measured, to two digits: `1.5 GiB`. */
export function roughSizeText(bytes: number): string {
  const step = Math.min(sizeUnits.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1024 ** step
  return `${value >= 10 || step === 0 ? Math.round(value) : Math.round(value * 10) / 10} ${sizeUnits[step]}`
}
