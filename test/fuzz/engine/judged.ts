/**
 * One input and what became of it: do the properties that all parsers share hold? A parser throws nothing but its own
 * errors, and takes time and memory at most in proportion to the bytes.
 */
import { Broken, type FuzzedParser, type Outcome } from './parser.js'
import { weightOf } from './weight.js'

export interface Failure {
  readonly kind: 'throws' | 'broken' | 'slow' | 'large'
  /** For people. */
  readonly what: string
  /** Equal for failures that have the same reason, most likely. */
  readonly label: string
}

type Judged = { readonly shape: string } | { readonly failure: Failure }

const shapesCharsMax = 120

/** A text without what differs from input to input. */
const shapeOf = (text: string): string =>
  text
    .slice(0, 1_000)
    .replaceAll(/"(?:[^"\\]|\\.)*"|'[^']*'|`[^`]*`/g, '"')
    .replaceAll(/[\d.]+|[^\x20-\x7e]+/g, '0')
    .slice(0, shapesCharsMax)

const keptPerByteMax = 64
const keptAlways = 20_000

export async function judged(parser: FuzzedParser, bytes: Buffer): Promise<Judged> {
  const started = performance.now()
  let outcome: Outcome
  try {
    outcome = await parser.read(bytes)
  } catch (error) {
    return { failure: failureOf(error) }
  }
  const ms = performance.now() - started
  if (ms > boundMs(parser, bytes.length)) {
    const least = await leastCpuMs(parser, bytes)
    if (least > boundMs(parser, bytes.length))
      return { failure: slow(`${Math.round(least)} ms of CPU for ${bytes.length} bytes`) }
  }
  if ('refused' in outcome) return { shape: `refused: ${shapeOf(outcome.refused)}` }
  const kept = weightOf(outcome.value)
  if (kept > keptAlways + bytes.length * (parser.keptPerByte ?? keptPerByteMax))
    return {
      failure: {
        kind: 'large',
        what: `${bytes.length} bytes became ${kept} characters and items`,
        label: 'large',
      },
    }
  return { shape: `read: ${typeof outcome.value} ${Math.round(Math.log2(kept))}` }
}

export const slow = (what: string): Failure => ({ kind: 'slow', what, label: 'slow' })

function failureOf(error: unknown): Failure {
  // What differs from input to input follows a colon.
  if (error instanceof Broken)
    return {
      kind: 'broken',
      what: error.message,
      label: error.message.split(':', 1)[0]!.replaceAll(/\d+/g, '0'),
    }
  const known = error instanceof Error ? error : new Error(String(error))
  const place = /\n\s+at ([^\n]*)/.exec(known.stack ?? '')?.[1] ?? ''
  const own = /\n\s+at ([^\n]*\/src\/[^\n]*)/.exec(known.stack ?? '')?.[1] ?? place
  return {
    kind: 'throws',
    what: `${known.name}: ${known.message} at ${own}`,
    label: `${known.name} at ${own}`,
  }
}

const msAlways = 30
const msPerKiB = 2

/** Far more than any of them needs on a slow machine, and far less than one needs whose time grows with the square. */
const boundMs = (parser: FuzzedParser, bytes: number): number =>
  msAlways + ((parser.msPerKiB ?? msPerKiB) * bytes) / 1_024

const measurements = 3

/** Other processes do not count, and what happens once, such as a garbage collection, does not happen each time. */
export async function leastCpuMs(parser: FuzzedParser, bytes: Buffer, times = measurements): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let left = times; left > 0; left -= 1) {
    const before = process.cpuUsage()
    try {
      await parser.read(bytes)
    } catch {
      // Time counts for refusals, too.
    }
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}
