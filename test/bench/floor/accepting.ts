/**
 * A server that answers every request with the same bytes, as JSON of AWS.
 *
 *     node accepting.js ANSWER
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const [answer = ''] = process.argv.slice(2)
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/x-amz-json-1.1')
    response.end(answer)
  })
})
server.listen(0, '127.0.0.1', () => console.log(`port: ${(server.address() as AddressInfo).port}`))
