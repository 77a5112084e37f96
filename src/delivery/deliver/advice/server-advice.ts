/** Advice for Kafka, NATS and ClickHouse. */
import { connectionAdvice, type KindAdvice, tlsAdvice } from '../kind/advice.js'

const caGiven = 'whether its certificate authority is given in tls.ca'

const replicas =
  'Fewer replicas of a partition are in sync than min.insync.replicas asks for. Look which brokers are down.'
const noLeader = 'A partition has no leader at present. Look which brokers are down.'

export const kafkaAdvice: KindAdvice = {
  throttle: {
    any: 'A quota of the broker is used up. If the backlog grows, raise producer_byte_rate of this user or client, or let a filter keep events back.',
  },
  transient: {
    any: 'The brokers fail or do not answer in time. Look at the error, at the way to all brokers, and at their logs.',
    ...connectionAdvice('broker'),
    ConnectionClosed:
      'The broker ends the connection: it stops, or it expects something else on this port. Look whether it runs, and whether tls and sasl are set as this listener wants them.',
    NOT_ENOUGH_REPLICAS: replicas,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND: replicas,
    LEADER_NOT_AVAILABLE: noLeader,
    BROKER_NOT_AVAILABLE: noLeader,
    KAFKA_STORAGE_ERROR: 'A broker cannot write to its disk. Look at its log and at the disk.',
  },
  credentials: {
    any: 'The broker refuses the user or the password. Set valid ones, and the mechanism that the user has.',
  },
  configuration: {
    any: 'The brokers refuse every request. Look at the error, at the topic, and at what the user may do there.',
    UNKNOWN_TOPIC_OR_PARTITION:
      'The topic does not exist, or the user may not see it. Create it, correct its name, or allow the user Describe.',
    TOPIC_AUTHORIZATION_FAILED: 'The user may not write to the topic. Allow Write and Describe on it.',
    CLUSTER_AUTHORIZATION_FAILED:
      'The user may not be an idempotent producer. Allow IdempotentWrite on the cluster.',
    UNSUPPORTED_SASL_MECHANISM:
      'The broker does not offer this SASL mechanism. Choose one of those that it has enabled.',
    ILLEGAL_SASL_STATE:
      'This listener of the broker takes no login. Leave sasl out, or choose the port of one that takes it.',
    INVALID_TOPIC_EXCEPTION: 'The broker does not take this name of a topic. Correct it.',
    NotKafka:
      'What answers there is no Kafka. Correct the host and port of the brokers, and whether TLS is on.',
    TlsFailed: tlsAdvice('broker', caGiven),
  },
  poison: {
    any: 'The brokers refuse the contents of many events in a row. Look at the error and at the dead letters.',
    MESSAGE_TOO_LARGE:
      'Single events are larger than the topic takes. Raise its max.message.bytes, or let the subscription choose fewer fields.',
    INVALID_TIMESTAMP:
      'The times of events are outside of what the topic takes. Look at its message.timestamp.before.max.ms.',
    INVALID_RECORD:
      'A rule of the broker refuses the records, such as a check of their schema. The error says why, if the broker does.',
  },
}

export const natsAdvice: KindAdvice = {
  throttle: {
    any: 'The NATS server asks for fewer messages. If the backlog grows, raise its limits, or let a filter keep events back.',
    StreamFull:
      'The stream is full and refuses new messages. Raise its limits, let it discard old messages, or let its consumers catch up.',
  },
  transient: {
    any: 'The NATS server fails or does not answer in time. Look at the error, at the way to it, and at its log.',
    ...connectionAdvice('NATS server'),
    JetStreamUnavailable:
      'JetStream does not answer at present: it may be choosing a leader. If that lasts, look which servers of the cluster are down.',
  },
  credentials: {
    any: 'The NATS server refuses the login. Set a valid token, password, nkey or credentials file.',
  },
  configuration: {
    any: 'The NATS server refuses every message. Look at the error, at the subject, and at what the user may do there.',
    NoStream:
      'No stream takes the subject. Make one with this subject, correct the subject, or look whether JetStream is enabled for the account.',
    PermissionDenied:
      'The user may not publish on the subject, or may not get the answers. Allow publishing on the subject, and subscribing below the inbox prefix.',
    JetStreamRefused:
      'JetStream refuses the messages. The error says why; look at the settings of the stream.',
    NotNats: 'What answers there is no NATS server. Correct the host and port, and whether TLS is on.',
    TlsFailed: tlsAdvice('NATS server', caGiven),
  },
  poison: {
    any: 'Single events are larger than the server or the stream takes. Raise max_payload of the server and max_msg_size of the stream, or let the subscription choose fewer fields.',
  },
}

const columns =
  'The table lacks a column for a member of the events. Add it: weir ddl prints the statement for the table, or set unknown_fields to skip.'
const password = 'ClickHouse refuses the user or the password. Set valid ones.'
const memory =
  'ClickHouse has no memory for the insert. Give it more, or let fewer other queries run at the same time.'

export const clickhouseAdvice: KindAdvice = {
  throttle: {
    any: 'ClickHouse accepts fewer inserts than there are. If the backlog grows, raise its limits, or let a filter keep events back.',
    TOO_MANY_PARTS:
      'The table has more parts than its merges can follow. Look at the disk and the merges of the server, and whether the partition key makes too many partitions.',
    TOO_MANY_SIMULTANEOUS_QUERIES:
      'Too many queries run at once. Raise max_concurrent_queries, or let fewer others run.',
    MEMORY_LIMIT_EXCEEDED: memory,
    CANNOT_ALLOCATE_MEMORY: memory,
    QUOTA_EXCEEDED: 'A quota of the user is used up. Raise it.',
  },
  transient: {
    any: 'ClickHouse fails or does not answer in time. Look at the error, at the way to the server, and at its log.',
    ...connectionAdvice('ClickHouse server'),
    NOT_ENOUGH_SPACE: 'The disk of the ClickHouse server is full. Make room on it.',
    TABLE_IS_READ_ONLY: 'The table is read-only: it has lost its Keeper. Look whether Keeper runs.',
    NO_ZOOKEEPER: 'The server has lost its Keeper. Look whether Keeper runs.',
    TOO_FEW_LIVE_REPLICAS:
      'Too few replicas of the table are up for the quorum. Look which servers are down.',
    TIMEOUT_EXCEEDED:
      'Inserts take longer than the server allows. Look at its load, or raise its time limit.',
  },
  credentials: { any: password },
  configuration: {
    any: 'ClickHouse refuses every insert. Look at the error, at the database and table, and at what the user may do there.',
    UNKNOWN_TABLE: 'The table does not exist. Make it (weir ddl prints the statement), or correct its name.',
    UNKNOWN_DATABASE: 'The database does not exist. Make it, or correct its name.',
    ACCESS_DENIED: 'The user may not insert into the table. Grant INSERT on it.',
    READONLY: 'The user may only read. Let it have a profile without readonly.',
    INCORRECT_DATA: columns,
    MissingColumns: columns,
    NO_SUCH_COLUMN_IN_TABLE: columns,
    NotClickHouse:
      'What answers there is no ClickHouse. Correct the URL: the port of its HTTP interface is needed.',
    Http404:
      'What answers there is no ClickHouse. Correct the URL: the port of its HTTP interface is needed.',
    TlsFailed: tlsAdvice('ClickHouse server', 'whether http or https is right in the URL'),
  },
  poison: {
    any: 'Values of many events in a row do not fit the columns of the table. The error names the column: change its type, or a constraint of the table.',
    TOO_MANY_PARTS:
      'The events of a request belong to too many partitions. Choose a partition key with fewer, such as a month.',
  },
}
