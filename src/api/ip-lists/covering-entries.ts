/** `covers` of the entries of an IP list: all entries are read, in slices, and the answer is one page. */
import { entryOf, type ListEntry, linesIn } from '../../core/address/list-entry.js'
import { badRequest } from '../../core/errors.js'
import type { Slices } from '../../core/slices.js'
import { coveringMax } from '../../http/lists/covering.js'
import { type ListChunk, textOfChunk } from '../../view/list-chunks.js'

/** `ranges`: all that contain the address, as entries spell them. Throws a `WeirError`. */
export async function coveringEntries(
  chunks: readonly ListChunk[],
  ranges: ReadonlySet<unknown>,
  slices: Slices,
): Promise<ListEntry[]> {
  const found: ListEntry[] = []
  for (const chunk of chunks) {
    if (slices.isDue()) await slices.pause()
    for (const line of linesIn(textOfChunk(chunk))) {
      const entry = entryOf(line)
      if (ranges.has(entry.cidr)) found.push(entry)
    }
    if (found.length > coveringMax)
      throw badRequest(`More than ${coveringMax} entries contain this: ask for a narrower range.`)
  }
  return found
}
