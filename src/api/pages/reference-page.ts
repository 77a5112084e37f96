/**
 * The API reference at `/docs`. Its scripts are served by Weir, so the content security policy can
 * forbid inline scripts and other origins.
 */
import { readFileSync } from 'node:fs'
import { type FastifyInstance, fastify } from 'fastify'
import { packageFile } from '../../core/package.js'
import { browserHeaders } from '../../http/headers.js'
import { revalidated, servedOnce } from './served-file.js'

const title = 'Weir management API'

const page = `<!doctype html>
<html lang="en">
  <head>
    <title>${title}</title>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="favicon.ico" />
  </head>
  <body>
    <div id="app"></div>
    <script src="docs/scalar.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`

/** Configuration of Scalar: https://scalar.com/products/api-references/configuration */
const configuration = {
  url: './openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  // These would send the reader or the document to an external service.
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  metaData: { title },
  proxyUrl: '',
}

/**
 * The page sends its requests to its own origin: the browser allows no other, and the deployment's base URL may differ.
 */
const start = `const servers = [{ url: new URL('..', location.href).href.replace(/[/]$/, '') }]
Scalar.createApiReference('#app', { ...${JSON.stringify(configuration)}, servers })
`

/** Browsers request the icon with every page. */
const iconCaching = 'public, max-age=86400'

/** The page's script writes inline styles, so they are allowed. */
const contentSecurityPolicy = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'", "'unsafe-inline'"],
    imgSrc: ["'self'", 'data:'],
    fontSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'self'"],
  },
}

export async function registerReference(app: FastifyInstance): Promise<void> {
  const hidden = { schema: { hide: true }, exposeHeadRoute: true }
  const headers = await browserHeaders(contentSecurityPolicy)
  const html = servedOnce({ type: 'text/html; charset=utf-8', caching: revalidated }, () => page)
  app.get('/docs', hidden, (request, reply) => html(request, reply.headers(headers)))
  // The page refers to its scripts by relative paths. Relative itself, because a proxy may serve the API below a path.
  app.get('/docs/', hidden, (_request, reply) => reply.redirect('../docs', 301))
  const icon = readFileSync(packageFile('dist', 'programs', 'favicon.ico'))
  app.get('/favicon.ico', hidden, (_request, reply) =>
    reply.header('Cache-Control', iconCaching).type('image/x-icon').send(icon),
  )
  const scripts = { 'scalar.js': scalarScript, 'start.js': () => start }
  const form = { type: 'text/javascript; charset=utf-8', caching: revalidated }
  for (const [name, make] of Object.entries(scripts)) app.get(`/docs/${name}`, hidden, servedOnce(form, make))
}

/** Scalar's browser script, which its package only serves through a route. It is slow to load and rarely needed. */
async function scalarScript(): Promise<string> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const host = fastify()
  await host.register(scalar, { routePrefix: '/', configuration: { url: configuration.url } })
  const { statusCode, payload } = await host.inject('/js/scalar.js')
  await host.close()
  if (statusCode !== 200) throw new Error('The package of the API reference has no script for browsers.')
  return payload
}
