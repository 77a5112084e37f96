/** Which field of a form each fault of the API belongs to. */

/** `hostports` of `hostports[1]`; else the place itself. */
export const listOf = (place: string): string => place.replace(/\[\d+\]$/, '')

/** The faults of a draft, as a form shows them. */
export interface PlacedFaults {
  /** By the name of the field. */
  readonly at: ReadonlyMap<string, string>
  /** Sentences about places that no field is for. */
  readonly others: readonly string[]
}

/**
 * A fault within a member, such as in one of its entries, belongs to the field of the member, unless a field is for that
 * part.
 */
export function placedFaults(faults: ReadonlyMap<string, string>, fields: readonly string[]): PlacedFaults {
  const at = new Map<string, string>()
  const others: string[] = []
  for (const [place, text] of faults) {
    const [field] = fields
      .filter((name) => place === name || place.startsWith(`${name}.`) || place.startsWith(`${name}[`))
      .toSorted((one, other) => other.length - one.length)
    if (field === undefined) others.push(text.startsWith('"') ? text : `${place}: ${text}`)
    else if (!at.has(field)) at.set(field, listOf(place) === listOf(field) ? withoutPlace(text) : text)
  }
  return { at, others }
}

/** At the field of a place, a message need not say where it is. One about an entry has the entry. */
const withoutPlace = (text: string): string => text.replace(/^"[^"]+"(?= (?:is|must|may|has|lacks) )/, 'This')
