/** The common parts of the operations that publish records. */

export const ingestTag = {
  name: 'ingest',
  description: 'Records of connections and requests, for those who do not publish them to NATS.',
}
