/** What the operations that publish records have in common. */

export const ingestTag = {
  name: 'ingest',
  description: 'Records of connections and requests, for those who do not publish them to NATS.',
}
