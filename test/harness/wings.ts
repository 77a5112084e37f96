/** The wings of the source and the rooms in them, in their order. */

/** A file imports from its own wing or one above, and of its own wing from its room or one to the left. */
export const wings: Readonly<Record<string, readonly string[]>> = {
  ground: ['core', 'expr', 'nats', 'pki'],
  delivery: ['wire', 'record', 'outgoing', 'ingest', 'books', 'nats-server', 'deliver'],
  words: ['resource', 'event', 'view', 'shape', 'client'],
  judging: ['evaluate', 'produce', 'pipeline', 'trial'],
  management: [
    'store',
    'exchange',
    'access',
    'write',
    'scheduled',
    'decide',
    'telemetry',
    'process',
    'insight',
    'operate',
    'http',
    'api',
  ],
  outside: ['emulator', 'demo', 'as-code', 'import', 'cli', 'console', 'playground', 'reference'],
}
