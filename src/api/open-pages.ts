/** Pages that need no key: the API reference and its document. */
import helmet from '@fastify/helmet'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import type { AnyTrafficEvent } from '../event/define.js'
import { registerFields } from './fields.js'
import { finishDocument, type OpenapiOptions, openapiHead } from './openapi-document.js'
import { registerReference } from './reference-page.js'

/** Answers are data: a browser must not run or frame them. */
const contentSecurityPolicy = {
  useDefaults: false,
  directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
}

/** Must be called before the first route is registered, because the document lists later routes only. */
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
  eventKinds: readonly AnyTrafficEvent[],
): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, isOpen: true }
  })
  app.get('/openapi.json', { schema: { hide: true }, exposeHeadRoute: true }, document)
  registerFields(app, eventKinds)
  await registerReference(app)
}
