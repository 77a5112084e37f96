/** Metrics as series: one for each name with its labels, however they were exported. */
import type { CollectedPoint } from './collector.js'

/** The series of Prometheus' text. */
export const seriesIn = (text: string): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ')
        return [sorted(line.slice(0, at)), Number(line.slice(at + 1))]
      }),
  )

/** A series of Prometheus, with its labels in alphabetical order. */
function sorted(series: string): string {
  const [, name = series, labels = ''] = /^([^{]*)\{(.*)\}$/.exec(series) ?? []
  const pairs = labels.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? []
  return pairs.length === 0 ? name : `${name}{${pairs.toSorted().join(',')}}`
}

/** The samples that Prometheus would show of a point. */
export function samplesOf({
  name,
  attributes,
  value,
  count = 0,
  bounds,
  counts = [],
}: CollectedPoint): [string, number][] {
  const series = (suffix: string, more: object = {}): string => {
    const pairs = Object.entries({ ...attributes, ...more }).map(
      ([key, text]) => `${key}=${JSON.stringify(text)}`,
    )
    return sorted(`${name}${suffix}{${pairs.join(',')}}`)
  }
  if (bounds === undefined) return [[series(''), value]]
  let sum = 0
  const buckets = counts.map((each, index): [string, number] => {
    sum += each
    return [series('_bucket', { le: String(bounds[index] ?? '+Inf') }), sum]
  })
  return [...buckets, [series('_sum'), value], [series('_count'), count]]
}
