/**
 * The least that answering over NATS costs: every request on `echo` gets the same answer, of the length of a decision.
 * Nothing is read.
 *
 *     node echo.js NATS ANSWER
 */
import { connect } from '@nats-io/transport-node'

const [url = '', answer = ''] = process.argv.slice(2)
const { host, username, password } = new URL(url)
const nats = await connect({ servers: host, user: username, pass: password })
const bytes = Buffer.from(answer)
nats.subscribe('echo', { callback: (_, message) => void message.respond(bytes) })
await nats.flush()
console.log('ready')
