/** Subjects of the calls of the JetStream API, by what is done with them; ADR-1 and the server's `jetstream_api.go`. */
import { streamOf } from '../../ground/nats/bucket-stream.js'

/** The limits of the account, which the client requests before it opens a bucket. */
export const limits = '$JS.API.INFO'
export const info = (stream: string): string => `$JS.API.STREAM.INFO.${stream}`
export const purge = (stream: string): string => `$JS.API.STREAM.PURGE.${stream}`
export const removeMessage = (stream: string): string => `$JS.API.STREAM.MSG.DELETE.${stream}`
export const removeStream = (stream: string): string => `$JS.API.STREAM.DELETE.${stream}`
/** Reads the message after a sequence, from any replica of the stream. */
export const nextMessage = (stream: string): string => `$JS.API.DIRECT.GET.${stream}`
/** Reads a message from the stream's leader. */
export const readMessage = (stream: string): string => `$JS.API.STREAM.MSG.GET.${stream}`
export const consumerInfo = (stream: string, consumer: string): string =>
  `$JS.API.CONSUMER.INFO.${stream}.${consumer}`
export const consumerDelete = (stream: string, consumer: string): string =>
  `$JS.API.CONSUMER.DELETE.${stream}.${consumer}`

export const makeStream = (stream: string): string[] => [
  info(stream),
  `$JS.API.STREAM.CREATE.${stream}`,
  `$JS.API.STREAM.UPDATE.${stream}`,
]

/** A durable consumer: created, pulled from, recreated if it is ahead of its stream. `*`: one per destination or replay. */
export const consume = (stream: string, consumer: string): string[] => [
  info(stream),
  consumerInfo(stream, consumer),
  // The second form names the subject that the consumer filters by.
  `$JS.API.CONSUMER.CREATE.${stream}.${consumer}`,
  `$JS.API.CONSUMER.CREATE.${stream}.${consumer}.>`,
  `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${consumer}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
  consumerDelete(stream, consumer),
  `$JS.ACK.${stream}.${consumer}.>`,
]

/** Follows a stream with ordered consumers, which the client names itself and which don't acknowledge. */
export const follow = (stream: string): string[] => [
  info(stream),
  consumerInfo(stream, '*'),
  `$JS.API.CONSUMER.CREATE.${stream}.>`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
  consumerDelete(stream, '*'),
  `$JS.FC.${stream}.>`,
]

export const readBucket = (bucket: string): string[] => [
  ...follow(streamOf(bucket)),
  readMessage(streamOf(bucket)),
]

export const writeBucket = (bucket: string): string[] => [
  ...readBucket(bucket),
  `$KV.${bucket}.>`,
  removeMessage(streamOf(bucket)),
]
