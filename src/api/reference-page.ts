/**
 * The API's reference for people, at `/docs`: the one page of HTML there is. Its scripts are files of ours, so that a
 * browser need not be allowed to run what stands in a page, nor to fetch anything from elsewhere.
 */
import { type FastifyInstance, fastify } from 'fastify'
import { faviconIco } from './favicon.js'

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

/** Of Scalar: https://scalar.com/products/api-references/configuration */
const configuration = {
  url: './openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  // What would send the reader, or the document, to someone else's service.
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  metaData: { title },
  proxyUrl: '',
}

/**
 * Requests of the page go to where it came from: the browser lets it reach no other address, and the deployment's base
 * URL may be another one.
 */
const start = `const servers = [{ url: new URL('.', location.href).href.replace(/[/]$/, '') }]
Scalar.createApiReference('#app', { ...${JSON.stringify(configuration)}, servers })
`

/** Browsers ask for the icon with every page. */
const iconCaching = 'public, max-age=86400'

/** What the page may do: its script writes the styles into it. */
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
  const html = { ...hidden, helmet: { contentSecurityPolicy } }
  app.get('/docs', html, (_request, reply) => reply.type('text/html; charset=utf-8').send(page))
  // Relative, for a proxy may serve the API below a path of its own.
  app.get('/', hidden, (_request, reply) => reply.redirect('docs', 302))
  // The page names its scripts from where it stands.
  app.get('/docs/', hidden, (_request, reply) => reply.redirect('../docs', 301))
  const icon = faviconIco()
  app.get('/favicon.ico', hidden, (_request, reply) =>
    reply.header('Cache-Control', iconCaching).type('image/x-icon').send(icon),
  )
  const scripts = { 'scalar.js': await scalarScript(), 'start.js': start }
  for (const [name, text] of Object.entries(scripts))
    app.get(`/docs/${name}`, hidden, (_request, reply) =>
      reply.type('text/javascript; charset=utf-8').send(text),
    )
}

/** Scalar's script for browsers, which its package has in the answer of a route alone. */
async function scalarScript(): Promise<string> {
  // Not before the page is to be served: it is slow to load, and other roles load this file as well.
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const host = fastify()
  await host.register(scalar, { routePrefix: '/', configuration: { url: configuration.url } })
  const { statusCode, payload } = await host.inject('/js/scalar.js')
  await host.close()
  if (statusCode !== 200) throw new Error('The package of the API reference has no script for browsers.')
  return payload
}
