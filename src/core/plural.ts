/** The plural of an English noun, or of a name that ends in one. */
export function pluralOf(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`
  return /(s|x|ch)$/.test(noun) ? `${noun}es` : `${noun}s`
}
