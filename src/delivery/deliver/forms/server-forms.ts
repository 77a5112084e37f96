/** The tiles and words of Kafka, NATS, ClickHouse and files. */
import { type KindForm, textIn, type Words } from '../kind/form.js'

const tlsWords: Words = {
  tls: { label: 'Encrypt connections (TLS)' },
  'tls.ca': {
    label: 'Certificate authority of your own',
    help: 'Certificates in PEM. Those that public servers have, unless others are given.',
  },
}

export const kafkaWords: Words = {
  topic: { label: 'Topic' },
  brokers: {
    label: 'Brokers',
    help: 'Host and port, such as kafka-1.example.com:9092. One is enough: it names the others.',
  },
  key: {
    label: 'Events that belong together',
    help: 'They share the key of a record, and so a partition.',
    choices: { event: 'none: spread evenly', edge: 'those of an edge', client: 'those of a client address' },
    unset: 'default: none, spread evenly',
    isRare: true,
  },
  ...tlsWords,
  sasl: { label: 'Sign in with a user (SASL)' },
  'sasl.mechanism': {
    label: 'Method',
    choices: { plain: 'PLAIN', 'scram-sha-256': 'SCRAM-SHA-256', 'scram-sha-512': 'SCRAM-SHA-512' },
  },
  'sasl.username': { label: 'User' },
  'sasl.password': { label: 'Password', help: 'Stored encrypted, never shown.' },
}

export const kafkaForm: KindForm = {
  id: 'kafka',
  name: 'Apache Kafka',
  purpose: 'A topic for many readers, each at its own pace.',
  needs: 'the address of a broker, and a topic',
  mark: 'M8 4v16M8 8l8-3M8 12h8M8 16l8 3M6 4h4v3H6zM6 17h4v3H6zM15 4h3v3h-3zM15 10.5h3v3h-3zM15 17h3v3h-3z',
  steps: ({ address, options }) => {
    const sasl = options['sasl'] as { readonly username?: unknown } | null | undefined
    const [broker] = Array.isArray(options['brokers']) ? options['brokers'] : []
    const server = `--bootstrap-server ${textIn(broker) || 'localhost:9092'}`
    const principal = `User:${textIn(sasl?.username) || 'weir'}`
    return [
      {
        text: 'Create the topic. Weir creates none.',
        copy: {
          what: 'the command',
          text: `kafka-topics.sh ${server} --create --topic ${address} --partitions 6 --replication-factor 3`,
        },
      },
      {
        text: 'If the cluster has ACLs, let the user write to it.',
        copy: {
          what: 'the command',
          text: `kafka-acls.sh ${server} --add --allow-principal ${principal} --operation Write --operation Describe --topic ${address}`,
        },
      },
    ]
  },
}

export const natsWords: Words = {
  subject: { label: 'Subject' },
  servers: {
    label: 'Servers',
    help: 'Such as nats://nats.example.com:4222. Without any, the NATS of Weir itself, below events.<your account>.',
  },
  auth: { label: 'How Weir signs in' },
  'auth.token': { label: 'Token' },
  'auth.token.token': { label: 'Token', help: 'Stored encrypted, never shown.' },
  'auth.basic': { label: 'User and password' },
  'auth.basic.username': { label: 'User' },
  'auth.basic.password': { label: 'Password', help: 'Stored encrypted, never shown.' },
  'auth.creds': { label: 'Credentials file' },
  'auth.creds.creds': { label: 'Content of the file', help: 'JWT and seed. Stored encrypted, never shown.' },
  'auth.nkey': { label: 'NKey' },
  'auth.nkey.seed': { label: 'Seed of the user', help: 'SU…. Stored encrypted, never shown.' },
  ...tlsWords,
  inbox_prefix: {
    label: 'Subjects of answers',
    help: '_INBOX, unless the user may not subscribe there.',
    isRare: true,
  },
  jetstream: {
    label: 'An event is delivered',
    help: 'If a stream is to store it and none takes the subject, events wait.',
    choices: {
      true: 'when a stream has stored it',
      false: 'when the server has it, for those who subscribe now',
    },
    unset: 'default: when a stream has stored it',
    isRare: true,
  },
}

export const natsForm: KindForm = {
  id: 'nats',
  name: 'NATS',
  purpose: 'Publishes each event on a subject, for streams and subscribers.',
  needs: 'a subject that a stream takes; servers, unless you use the NATS of Weir',
  mark: 'M4 5h16v11h-6l-3 4v-4H4zM8 8v5l6-5v5',
  steps: ({ accountId, address, options }) => {
    const isOwn = !Array.isArray(options['servers']) || options['servers'].length === 0
    const subject = isOwn ? `events.${accountId}.${address}` : address
    return [
      {
        text: 'Create a stream that takes the subject. Until there is one, events wait.',
        copy: {
          what: 'the command',
          text: `nats stream add WEIR --subjects '${subject}' --max-bytes 1GB --defaults`,
        },
      },
      {
        text: 'See events arrive:',
        copy: { what: 'the command', text: `nats sub '${subject}'` },
      },
    ]
  },
}

export const clickhouseWords: Words = {
  url: { label: 'Address of the server', help: 'Scheme, host and port of its HTTP interface.' },
  table: { label: 'Table', help: 'Or a view that takes inserts.' },
  database: { label: 'Database', help: 'The default database of the user, unless another is given.' },
  auth: { label: 'Sign in with a user', help: 'Otherwise the user “default”, without a password.' },
  'auth.username': { label: 'User' },
  'auth.password': { label: 'Password', help: 'Stored encrypted, never shown.' },
  async_insert: {
    label: 'Let the server gather rows',
    help: 'For many small requests. It answers once the rows are stored.',
    isRare: true,
  },
  unknown_fields: {
    label: 'If the table lacks a column',
    choices: { refuse: 'wait until someone adds it', skip: 'leave the value out' },
    unset: 'default: wait until someone adds it',
    isRare: true,
  },
}

export const clickhouseForm: KindForm = {
  id: 'clickhouse',
  name: 'ClickHouse',
  purpose: 'A table with a row per event, to be asked in SQL.',
  needs: 'a server, a table and a user who may insert',
  mark: 'M5 4v16M9 4v16M13 4v16M17 4v16M21 10v4',
  steps: ({ options }) => {
    const name = [options['database'], options['table']].map(textIn).filter(Boolean).join('.') || 'events'
    const { username } = (options['auth'] ?? {}) as { readonly username?: unknown }
    const user = textIn(username) || 'weir'
    return [
      {
        text: 'Create the table. It has a column for everything that an event can have.',
        table: { dialect: 'clickhouse', name },
      },
      {
        text: 'Create a user who may insert into it and do nothing else.',
        copy: {
          what: 'the statements',
          text: `CREATE USER ${user} IDENTIFIED BY 'a password';\nGRANT INSERT, SHOW COLUMNS ON ${name} TO ${user};`,
        },
      },
    ]
  },
}

export const fileWords: Words = {
  name: { label: 'Name of the file', help: 'In the directory of this account on the machine of Weir.' },
  size: {
    label: 'Largest size, in bytes',
    help: 'It is rotated before; 104857600 (100 MiB) unless another is given.',
    isRare: true,
  },
  age_seconds: {
    label: 'Longest age, in seconds',
    help: 'An older file is rotated with the next event; no limit unless one is given.',
    isRare: true,
  },
  keep: {
    label: 'Rotated files that are kept',
    help: '10, unless another is given. The oldest are deleted.',
    isRare: true,
  },
  gzip_rotated: { label: 'Compress rotated files', isRare: true },
}

export const fileForm: KindForm = {
  id: 'file',
  name: 'File',
  purpose: 'Lines of JSON on the machine of Weir, to try it out or for a log shipper.',
  needs: 'a directory that the operator of Weir allows',
  mark: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  steps: ({ accountId, address }) => [
    {
      text: 'The operator of Weir allows files by naming a directory.',
      copy: { what: 'the command', text: 'WEIR_FILE_DIRECTORY=/var/lib/weir-events npm start' },
    },
    {
      text: 'See events arrive on that machine:',
      copy: { what: 'the command', text: `tail -F /var/lib/weir-events/${accountId}/${address}` },
    },
  ],
}
