/**
 * The protocol of Kafka: its requests, answers and batches of records are written and read by `@platformatic/kafka`. The
 * library's own connections are not used, because they would follow a broker to any address that it names; nor is its
 * producer, because the lane retries. It is large, and loaded with the first request.
 */
import { loadedOnce } from '../kind/loaded-once.js'

export const protocol = loadedOnce(() => import('@platformatic/kafka'))

export type Protocol = Awaited<ReturnType<typeof protocol>>

/**
 * Each kind of request, in the newest version first. From version 10 on, answers to Produce have tagged fields, which the
 * library skips as if there were none: it then reads the rest wrongly.
 */
export const apisOf = (library: Protocol) => ({
  produce: [library.produceV9.api, library.produceV8.api, library.produceV7.api],
  metadata: [library.metadataV12.api, library.metadataV11.api],
  initProducerId: [library.initProducerIdV4.api],
})

/** The answer, also if it has errors in it: the library throws it then. */
export async function answerOf<R>(answer: Promise<R>): Promise<R> {
  try {
    return await answer
  } catch (error) {
    const { response } = error as { readonly response?: R }
    if (response === undefined) throw error
    return response
  }
}
