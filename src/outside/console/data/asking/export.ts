/** Decisions as a file: the API sends all pages in one answer. */
import { ApiError } from '../../../../words/client/api-error.js'
import { consoleHeaders } from '../access/headers.js'
import { after } from '../clock.js'
import { root } from '../location.js'

/** The API sends at most so many decisions in one file. */
export const exportedMax = 100_000

export const exportFormats = [
  ['application/x-ndjson', 'NDJSON', 'ndjson'],
  ['text/csv', 'CSV', 'csv'],
] as const

/** Saves what the query selects; resolves to the number of decisions. Throws an `ApiError`, or if the answer breaks off. */
export async function saveDecisions(
  query: URLSearchParams,
  [accept, , ending]: (typeof exportFormats)[number],
): Promise<number> {
  const response = await fetch(`${root}decisions?${query}`, {
    headers: { ...consoleHeaders, accept, 'service-version': '2' },
  })
  if (!response.ok) throw new ApiError('GET /decisions', response.status, await response.text())
  const text = await response.text()
  save(new Blob([text], { type: accept }), `decisions.${ending}`)
  // In CSV, a text in quotes may have line breaks, and the first line has the names.
  const lines = text.replace(/"(?:[^"]|"")*"/g, '').split('\n').length - 1
  return ending === 'csv' ? Math.max(0, lines - 1) : lines
}

export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser reads it after the click.
  after(60_000, () => URL.revokeObjectURL(url))
}
