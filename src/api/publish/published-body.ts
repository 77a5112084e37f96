/** What the operations that publish records have in common. */

/** As it is sent. Log lines are compressed to a tenth. */
export const publishedBodyBytesMax = 4 * 1024 * 1024

export const ingestTag = {
  name: 'ingest',
  description: 'Records of connections and requests, for those who do not publish them to NATS.',
}
