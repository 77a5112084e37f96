/** A trace as text: a line for each span, below the one that it belongs to. */
import type { CollectedSpan } from './collector.js'

/** Spans of the same parent are in this order: the times of some change from run to run. */
const order = [
  'claim',
  'commit',
  'head',
  'insert',
  'audit',
  'project',
  'reach',
  'receive',
  'evaluate',
  'produce',
]

const width = 36

export function traceText(spans: readonly CollectedSpan[]): string {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const [root] = spans.filter(({ parentSpanId }) => !ids.has(parentSpanId))
  if (root === undefined) return ''
  return linesOf(root, spans, 0, root.startMs).join('\n')
}

function linesOf(
  span: CollectedSpan,
  all: readonly CollectedSpan[],
  depth: number,
  beganMs: number,
): string[] {
  const { name, resource, startMs, endMs } = span
  const times = `${ms(startMs - beganMs)} + ${ms(endMs - startMs)}`
  const head = `${'  '.repeat(depth)}${name}`.padEnd(width) + String(resource['weir.role']).padEnd(10) + times
  const below = all
    .filter(({ parentSpanId }) => parentSpanId === span.spanId)
    .toSorted(
      (one, other) => order.indexOf(one.name) - order.indexOf(other.name) || one.startMs - other.startMs,
    )
  return [head, ...below.flatMap((each) => linesOf(each, all, depth + 1, beganMs))]
}

const ms = (time: number): string => `${time.toFixed(1)} ms`

/** The same without times, which no two runs share. */
export const withoutTimes = (text: string): string => text.replaceAll(/ +[\d.-]+ ms \+ [\d.-]+ ms/g, '')
