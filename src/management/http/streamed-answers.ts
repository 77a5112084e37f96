/**
 * Answers whose text is made while the client takes it: the next piece is made once the client has taken the one before.
 * If an answer can't be completed, its connection is cut, so that no client takes a part for the whole.
 */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { after } from '../../ground/core/clock.js'

/** Cuts the connection of an answer: its client took too long, or the API stops. */
class AnswerEnded extends Error {}

export class StreamedAnswers {
  readonly #underWay = new Set<Readable>()
  readonly #msMax: number

  /** They end when the API stops. `msMax`: how long a client may take for one. */
  constructor(app: FastifyInstance, msMax: number) {
    this.#msMax = msMax
    app.addHook('preClose', async () => {
      for (const stream of this.#underWay) stream.destroy(new AnswerEnded())
    })
  }

  send(reply: FastifyReply, mediaType: string, text: AsyncIterable<string>): FastifyReply {
    const stream = Readable.from(text, { highWaterMark: 1 })
    const timer = after(this.#msMax, () => stream.destroy(new AnswerEnded()))
    this.#underWay.add(stream)
    stream.once('close', () => {
      timer.stop()
      this.#underWay.delete(stream)
    })
    return reply.type(`${mediaType}; charset=utf-8`).send(stream)
  }
}
