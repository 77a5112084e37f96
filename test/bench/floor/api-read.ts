/**
 * A server that answers with bytes from memory: one route for a resource and one for a list.
 *
 *     node api-read.js RESOURCE_FILE LIST_FILE
 */
import { readFileSync } from 'node:fs'
import fastify from 'fastify'

const [resource, list] = process.argv.slice(2).map((file) => readFileSync(file))
const app = fastify()
app.get('/ip_policies/:id', (_, reply) => reply.type('application/json; charset=utf-8').send(resource))
app.get('/ip_policies', (_, reply) => reply.type('application/json; charset=utf-8').send(list))
console.log(`url: ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
