/**
 * Decisions of the log as NDJSON or CSV: all pages in one answer. The next page is read once the client has taken the
 * one before. If an answer can't be completed, the connection is cut, so that no client takes a part for the whole.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { after } from '../core/clock.js'
import { ClientGone, WeirError } from '../core/errors.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import { reportFault } from '../http/problem.js'
import { shownDecisions } from '../insight/shown-decision.js'
import { type DecisionFormat, decisionFormats } from '../shape/decision-formats.js'
import type { LogPosition, LogReader } from '../store/logs/log-reader.js'

/** How long a client may take for an answer. */
const exportMsMax = 60_000

type Page = Awaited<ReturnType<LogReader['page']>>

/** A page of at most `limit` decisions after a place in the list. */
export type ReadPage = (limit: number, before?: LogPosition) => Promise<Page>

const rowsAtOnce = 1_000
const formats = Object.values(decisionFormats)

export const exportTypes = formats.map(({ mediaType }) => mediaType)

/** The format that the client prefers to JSON. */
export function formatFor({ headers }: FastifyRequest): DecisionFormat | undefined {
  const type = acceptedType(headers.accept, ['application/json', ...exportTypes])
  return formats.find(({ mediaType }) => mediaType === type)
}

/** Cuts the connection of an answer: its client took too long, or the API stops. */
class ExportEnded extends Error {}

export class DecisionExports {
  readonly #occurrences: Occurrences
  readonly #underWay = new Set<Readable>()

  constructor(occurrences: Occurrences) {
    this.#occurrences = occurrences
  }

  /** A failure of the first page is answered like that of any other request. */
  async send(
    request: FastifyRequest,
    reply: FastifyReply,
    { mediaType, head, line, lineBreak }: DecisionFormat,
    limit: number,
    read: ReadPage,
  ): Promise<FastifyReply> {
    const first = await read(Math.min(limit, rowsAtOnce))
    const pages = this.#pages(request, first, limit, read)
    const textOf = (lines: readonly string[]): string => lines.map((each) => each + lineBreak).join('')
    async function* text() {
      if (head.length > 0) yield textOf(head)
      for await (const decisions of pages) yield textOf(decisions.map(line))
    }
    const stream = Readable.from(text(), { highWaterMark: 1 })
    const timer = after(exportMsMax, () => stream.destroy(new ExportEnded()))
    this.#underWay.add(stream)
    stream.once('close', () => {
      timer.stop()
      this.#underWay.delete(stream)
    })
    return reply.type(`${mediaType}; charset=utf-8`).send(stream)
  }

  async *#pages(request: FastifyRequest, first: Page, limit: number, read: ReadPage) {
    let left = limit
    for (let page = first; ; ) {
      const decisions = shownDecisions(page.rows)
      if (decisions.length > 0) yield decisions
      left -= decisions.length
      const { next } = page
      if (next === undefined || left <= 0) return
      const readNext = () => read(Math.min(left, rowsAtOnce), next)
      try {
        page = await (request.work === undefined ? readNext() : request.work.run(readNext))
      } catch (error) {
        if (error instanceof WeirError) reportFault(this.#occurrences, error, request)
        if (error instanceof ClientGone) return
        throw error
      }
    }
  }

  /** Ends all, so that the API can stop. */
  close(): void {
    for (const stream of this.#underWay) stream.destroy(new ExportEnded())
  }
}

interface Range {
  readonly type: string
  readonly quality: number
}

/**
 * The offered media type that the header `Accept` prefers. Among equals, the one that is named more exactly wins, then the
 * one that is offered first. If none is accepted, it is the first: an answer in another form is better than none.
 * https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
 */
export function acceptedType<const Offered extends string>(
  accept: string | undefined,
  offered: readonly [Offered, ...Offered[]],
): Offered {
  const ranges = (accept ?? '').split(',').map(rangeOf)
  let best: { type: Offered; quality: number; exactness: number } | undefined
  for (const type of offered) {
    const names = [type, `${type.split('/')[0]}/*`, '*/*']
    const range = names.map((name) => ranges.find((each) => each.type === name)).find(Boolean)
    if (range === undefined) continue
    const { quality } = range
    const exactness = -names.indexOf(range.type)
    const isBetter =
      best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness)
    if (quality > 0 && isBetter) best = { type, quality, exactness }
  }
  return best?.type ?? offered[0]
}

function rangeOf(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.map((each) => /^q\s*=\s*([\d.]+)$/.exec(each)?.[1]).find(Boolean)
  return { type, quality: quality === undefined ? 1 : Number(quality) }
}
