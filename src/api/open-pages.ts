/** What is answered without a key: how the service is, and the API reference. */
import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { type HealthSource, healthAnswer, healthPaths } from '../core/health.js'
import { finishDocument, type OpenapiOptions, openapiHead } from './openapi-document.js'
import { registerReference } from './reference-page.js'

/** Answers are data: nothing in them is run, shown in a frame or sent on. */
const contentSecurityPolicy = {
  useDefaults: false,
  directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
}

/** To be called before the first route: the document is made of those that follow. */
export async function openReference(app: FastifyInstance, options: OpenapiOptions): Promise<void> {
  await app.register(helmet, { contentSecurityPolicy, hsts: false })
  await app.register(swagger, {
    openapi: openapiHead(options),
    transformObject: finishDocument(options),
  })
}

export async function registerOpenPages(
  app: FastifyInstance,
  document: () => object,
  health: HealthSource,
): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, isOpen: true }
  })
  registerHealth(app, health)
  app.get('/openapi.json', { schema: { hide: true }, exposeHeadRoute: true }, document)
  await registerReference(app)
}

/** Answered before a body is read, whatever the method. */
function registerHealth(app: FastifyInstance, health: HealthSource): void {
  for (const path of healthPaths) {
    app.route({
      method: app.supportedMethods as HTTPMethods[],
      url: path,
      schema: { hide: true },
      onRequest: async (request, reply) => {
        const answer = await healthAnswer(health, request.method, path)
        return reply.status(answer!.status).headers(answer!.headers).send(answer!.body)
      },
      handler: () => undefined,
    })
  }
}
