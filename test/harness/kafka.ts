/**
 * A broker of Apache Kafka for one test, from the distribution that KAFKA_HOME names (its `libs` hold the
 * program); needs Java.
 */
import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { env } from 'node:process'
import { Admin, Connection, Consumer, createAclsV3 } from '@platformatic/kafka'
import { freePorts } from './free-ports.js'
import { freeze } from './processes.js'
import { tempDir } from './temp-dir.js'
import { until } from './weir.js'

const home = env['KAFKA_HOME']

/** Why there is no broker; undefined if there is one. */
export const kafkaMissing =
  home === undefined ? 'skipped: KAFKA_HOME names no distribution of Kafka' : undefined

export const kafkaUser = { username: 'weir', password: 'right' }

export interface KafkaBroker {
  readonly plain: string
  /** Takes `kafkaUser` by PLAIN and SCRAM-SHA-256. */
  readonly sasl: string
  /** The same, encrypted. */
  readonly tls: string
  /** Its certificate, for `localhost`. */
  readonly ca: string
  createTopic(name: string, partitions?: number, configs?: Readonly<Record<string, string>>): Promise<void>
  /** The records of a topic, as so many that there must be are read. */
  read(topic: string, count: number): Promise<{ key: string; value: string; partition: number }[]>
  /** Lets the user see a topic, and nothing else. */
  denyWrites(topic: string): Promise<void>
  /** How many bytes a second a client may write. */
  limit(clientId: string, bytesPerSecond: number): Promise<void>
  freeze(): void
  thaw(): void
  /** Without saying goodbye. */
  kill(): void
}

interface Test {
  teardown(close: () => unknown): unknown
}

const settingsOf = (dir: string, [plain, sasl, tls, controller]: readonly number[], more: string): string => `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
listeners=PLAINTEXT://127.0.0.1:${plain},SASL_PLAINTEXT://127.0.0.1:${sasl},SASL_SSL://127.0.0.1:${tls},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=PLAINTEXT://127.0.0.1:${plain},SASL_PLAINTEXT://127.0.0.1:${sasl},SASL_SSL://localhost:${tls}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location=${join(dir, 'keystore.pem')}
inter.broker.listener.name=PLAINTEXT
log.dirs=${join(dir, 'data')}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_weir="right" ;
listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required ;
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required ;
listener.name.sasl_ssl.sasl.enabled.mechanisms=SCRAM-SHA-256
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
${more}`

/** `advertised`: the port that the broker names to its clients, if it is another one. */
export async function startKafka(t: Test, more = '', advertised?: number): Promise<KafkaBroker> {
  const dir = tempDir(t)
  mkdirSync(dir, { recursive: true })
  const ports = await freePorts(4)
  const [plainPort, saslPort, tlsPort] = ports
  const ca = makeKeystore(dir)
  const file = join(dir, 'server.properties')
  const text = settingsOf(dir, ports, more)
  const named = `advertised.listeners=PLAINTEXT://127.0.0.1:`
  writeFileSync(
    file,
    advertised === undefined ? text : text.replace(`${named}${plainPort}`, `${named}${advertised}`),
  )
  const classes = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-cp', join(home!, 'libs', '*')]
  // An id that begins with a hyphen would be taken for an option.
  const id = Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url').replace(/^-/, 'A')
  const user = 'SCRAM-SHA-256=[name=weir,password=right]'
  const format = ['kafka.tools.StorageTool', 'format', '-t', id, '-c', file, '--add-scram', user]
  execFileSync('java', [...classes, ...format], { stdio: 'ignore' })
  const broker = spawn('java', [...classes, 'kafka.Kafka', file], { stdio: 'ignore' })
  const ended = new Promise((resolve) => broker.once('exit', resolve))
  t.teardown(() => {
    broker.kill('SIGKILL')
    return ended
  })
  await until('Kafka answers', () => answers(plainPort!))
  const plain = `127.0.0.1:${plainPort}`
  const client = { clientId: 'test', bootstrapBrokers: [plain], retries: 20, retryDelay: 250 }
  return {
    plain,
    sasl: `127.0.0.1:${saslPort}`,
    tls: `localhost:${tlsPort}`,
    ca,
    createTopic: async (name, partitions = 3, configs = {}) => {
      const admin = new Admin(client)
      const list = Object.entries(configs).map(([key, value]) => ({ name: key, value }))
      await admin.createTopics({ topics: [name], partitions, replicas: 1, configs: list })
      await admin.close()
    },
    read: async (topic, count) => {
      const consumer = new Consumer({ ...client, groupId: randomUUID() })
      const stream = await consumer.consume({
        topics: [topic],
        mode: 'earliest',
        autocommit: false,
        maxWaitTime: 200,
      })
      const found: { key: string; value: string; partition: number }[] = []
      const timer = setTimeout(() => void stream.close(), count === 0 ? 2_000 : 20_000)
      for await (const { key, value, partition } of stream) {
        found.push({ key: `${key}`, value: `${value}`, partition })
        // A moment longer, for records that there must not be.
        if (found.length === count) setTimeout(() => void stream.close(), 500)
      }
      clearTimeout(timer)
      await consumer.close(true)
      return found
    },
    denyWrites: async (topic) => {
      const connection = new Connection('test')
      await connection.connect('127.0.0.1', plainPort!)
      const rule = { resourceType: 2, resourceName: topic, resourcePatternType: 3, host: '*' }
      const describe = { ...rule, principal: `User:${kafkaUser.username}`, operation: 8, permissionType: 3 }
      await createAclsV3.api.async(connection, [describe])
      await connection.close()
    },
    limit: async (clientId, bytesPerSecond) => {
      const admin = new Admin(client)
      const ops = [{ key: 'producer_byte_rate' as const, value: bytesPerSecond, remove: false as const }]
      const entities = [{ entityType: 'client-id' as const, entityName: clientId }]
      await admin.alterClientQuotas({ entries: [{ entities, ops }] })
      await admin.close()
    },
    freeze: () => freeze(broker.pid!),
    thaw: () => void broker.kill('SIGCONT'),
    kill: () => void broker.kill('SIGKILL'),
  }
}

/** A key and a certificate for `localhost`; the result is the certificate. */
function makeKeystore(dir: string): string {
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  execFileSync('openssl', [...made, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
  const text = readFileSync(cert, 'utf8')
  writeFileSync(join(dir, 'keystore.pem'), `${readFileSync(key, 'utf8')}${text}`)
  return text
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
