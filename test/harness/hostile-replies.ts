/** Messages with a wildcard in the reply subject, sent byte by byte: a hostile client does not refuse to send them. */
import { connect } from 'node:net'
import { until } from './weir.js'

export const hostileReplies = ['_INBOX.>', '>', '*', 'a.*.b', '_INBOX.*'] as const

/** Publishes as the user of `url`; resolves when the server has answered a later ping, or has closed the connection. */
export async function publishHostile(url: string, subject: string, reply: string): Promise<void> {
  const { hostname, port, username: user, password: pass } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  socket.write(`CONNECT ${JSON.stringify({ user, pass, verbose: false })}\r\n`)
  socket.write(`PUB ${subject} ${reply} 2\r\n{}\r\nPING\r\n`)
  await until('the server answers or hangs up', () => received.includes('PONG') || socket.closed)
  socket.destroy()
}
