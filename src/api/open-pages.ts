/** What is answered without a key: how the service is, and the API reference. */
import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { namedReferences, type OpenapiOptions, openapiHead, registerSchemas } from './openapi.js'
import { finishedDocument } from './openapi-document.js'
import { registerReference } from './reference-page.js'

/** What every role tells of itself. */
export interface HealthPages {
  /** Names of parts that are not usable, with the reason. */
  readonly ready: () => Promise<Readonly<Record<string, string>>>
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>
}

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
    refResolver: namedReferences,
    transformObject: finishedDocument,
  })
  registerSchemas(app)
}

export async function registerOpenPages(
  app: FastifyInstance,
  document: () => object,
  health: HealthPages,
): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, isOpen: true }
  })
  // Load balancers like to ask with HEAD.
  const hidden = { schema: { hide: true }, exposeHeadRoute: true }
  app.get('/healthz', hidden, () => ({ status: 'ok' }))
  app.get('/readyz', hidden, async (_request, reply) => {
    const failing = await health.ready()
    const ready = Object.keys(failing).length === 0
    return reply.status(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', failing })
  })
  app.get('/metrics', hidden, async (_request, reply) => {
    const { type, text } = await health.metrics()
    return reply.type(type).send(text)
  })
  app.get('/openapi.json', hidden, document)
  await registerReference(app)
}
