/**
 * The management API: a fastify instance with every route, without a port, so that tests can call it directly.
 *
 * A request is checked in this order: token ▸ `api` restriction ▸ rate ▸ version ▸ path and method ▸ content type ▸
 * size ▸ body. Schemas document; what is wrong with a body is found and said by the code of this room, whose
 * sentences a person can act on.
 */
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import scalar from '@scalar/fastify-api-reference'
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { WeirError } from '../core/errors.js'
import { newId } from '../core/ids.js'
import { requestBodyBytesMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import { resources } from '../resource/registry.js'
import type { View } from '../store/view.js'
import { Auth } from './auth.js'
import type { ApiContext } from './context.js'
import { type DestinationOperations, registerDestinationOperations } from './destination-routes.js'
import { parseJsonBody } from './json-body.js'
import { registerModules } from './module-routes.js'
import { answerProblem } from './problem.js'
import { registerResource } from './resource-routes.js'
import { registerSources } from './source-routes.js'

export interface ApiOptions {
  readonly context: ApiContext
  readonly view: View
  readonly destinations: DestinationOperations
  readonly occurrences: Occurrences
  /** Where clients reach the API; undefined: wherever they got the document from. */
  readonly baseUrl: string | undefined
  readonly versionHeaders: readonly string[]
  /** Requests per account and minute; 0: no bound. */
  readonly rateLimitPerMinute: number
  /** CIDRs whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  readonly health: HealthPages
}

/** What every role answers without a key. */
export interface HealthPages {
  /** Names of parts that are not usable, with the reason. */
  readonly ready: () => Promise<Readonly<Record<string, string>>>
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>
}

const requestTimeoutMs = 30_000
const pathParamCharsMax = 300
const shownPathCharsMax = 200

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered without a key and version. */
    isOpen?: boolean
  }
}

export async function buildApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: requestBodyBytesMax,
    requestTimeout: requestTimeoutMs,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    genReqId: () => newId('op_'),
    routerOptions: { maxParamLength: pathParamCharsMax },
    forceCloseConnections: 'idle',
    // A HEAD is answered by nothing: the contract names every method there is.
    exposeHeadRoutes: false,
  })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(answerProblem(options.occurrences))
  acceptJson(app)
  app.decorateRequest('caller')
  app.addHook('onResponse', async (request, reply) => {
    options.occurrences.requestServed({ method: request.method, status: String(reply.statusCode) })
  })
  await app.register(helmet, { contentSecurityPolicy: docsPolicy, hsts: false })
  await app.register(rateLimit, { global: false })
  await app.register(swagger, { openapi: openapiHead(options) })
  guard(app, options)
  await app.register(async (open) => registerOpenPages(open, app, options))
  await app.register(async (guarded) => registerResources(guarded, options))
  await app.ready()
  return app
}

/** The reference page serves its own script; nothing is fetched from elsewhere. */
const docsPolicy = {
  directives: {
    defaultSrc: ["'self'"],
    scriptSrc: ["'self'", "'unsafe-inline'"],
    styleSrc: ["'self'", "'unsafe-inline'"],
    imgSrc: ["'self'", 'data:'],
    fontSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    upgradeInsecureRequests: null,
  },
}

/** Bodies are JSON in UTF-8; an empty one is no body. */
function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
    if (charset !== undefined && charset.toLowerCase() !== 'utf-8') {
      done(
        new WeirError(
          'ERR_CONTENT_TYPE',
          `The charset ${JSON.stringify(charset)} is not supported: JSON is UTF-8.`,
        ),
      )
      return
    }
    try {
      done(null, parseJsonBody(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

/** Unknown paths and methods pass the same checks first: nothing is told to those who are refused. */
function guard(app: FastifyInstance, options: ApiOptions): void {
  const { view, versionHeaders, occurrences } = options
  const auth = new Auth({
    view,
    versionHeaders,
    occurrences,
    overRate: rateOf(app, options.rateLimitPerMinute),
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('Operation-Id', request.id)
    if (request.routeOptions.config.isOpen) return
    request.caller = await auth.check(request)
    if (!request.is404) return
    const path = request.url.split('?')[0]!.slice(0, shownPathCharsMax)
    throw new WeirError('ERR_NOT_FOUND', `There is nothing at ${request.method} ${path}.`)
  })
}

function registerResources(app: FastifyInstance, { context, destinations }: ApiOptions): void {
  for (const resource of resources) {
    registerResource(app, context, resource)
    registerModules(app, context, resource)
  }
  registerSources(app, context)
  registerDestinationOperations(app, context, destinations)
}

/** Counts requests per account. */
function rateOf(app: FastifyInstance, perMinute: number) {
  if (perMinute === 0) return async () => undefined
  const accounts = new WeakMap<FastifyRequest, string>()
  const limit = app.createRateLimit({
    max: perMinute,
    timeWindow: '1 minute',
    keyGenerator: (request) => accounts.get(request) ?? '',
  })
  return async (request: FastifyRequest, accountId: string): Promise<number | undefined> => {
    accounts.set(request, accountId)
    const answer = await limit(request)
    return answer.isAllowed || !answer.isExceeded ? undefined : Math.max(1, answer.ttlInSeconds)
  }
}

async function registerOpenPages(
  app: FastifyInstance,
  root: FastifyInstance,
  { health }: ApiOptions,
): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, isOpen: true }
  })
  const hidden = { schema: { hide: true } }
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
  app.get('/openapi.json', hidden, () => root.swagger())
  await app.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      content: () => root.swagger(),
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      proxyUrl: '',
    },
  })
}

function openapiHead({ baseUrl, versionHeaders }: ApiOptions) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Weir management API',
      version: '2',
      description:
        'Edges, IP policies, restrictions, event subscriptions and destinations. Geography: IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0.',
    },
    servers: [{ url: baseUrl ?? '/' }],
    components: {
      securitySchemes: {
        key: { type: 'http' as const, scheme: 'bearer' },
        version: {
          type: 'apiKey' as const,
          in: 'header' as const,
          name: versionHeaders[0] ?? 'Service-Version',
          description: 'Always 2.',
        },
      },
    },
    security: [{ key: [], version: [] }],
  }
}
