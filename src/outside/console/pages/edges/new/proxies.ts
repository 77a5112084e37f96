/** Proxies as people know them, and what to paste into each: the texts are those of `docs/recipes`. */
import { recipes } from '../../../data/recipes.js'

/** A file of the proxy; the mark of its recipe. */
interface Part {
  /** Empty: a command, or a part of whichever file one has. */
  readonly file: string
  readonly mark: string
}

interface Log {
  readonly parts: readonly Part[]
  /** The mark of the command that reads the log; undefined: the proxy sends its records itself. */
  readonly publish?: string
}

export interface ProxyKind {
  readonly id: string
  readonly name: string
  readonly purpose: string
  readonly needs: string
  /** Its drawing. */
  readonly mark: string
  /** How it asks before it serves; undefined: it can't. */
  readonly asks?: readonly Part[]
  readonly reload: string
  /** Its log of requests, and of connections. */
  readonly log: { readonly https?: Log; readonly tcp?: Log }
}

export const proxyKinds: readonly ProxyKind[] = [
  {
    id: 'nginx',
    name: 'nginx',
    purpose: 'Asks before it serves, and logs requests and connections.',
    needs: 'the module auth_request, which packages have',
    mark: 'M12 2l9 5v10l-9 5-9-5V7zM9 16V8l6 8V8',
    asks: [
      { file: '/etc/nginx/conf.d/www.conf', mark: 'nginx server' },
      { file: '/etc/nginx/weir.conf', mark: 'nginx closed' },
    ],
    reload: 'nginx -s reload',
    log: {
      https: { parts: [{ file: '', mark: 'nginx log' }], publish: 'nginx publish' },
      tcp: { parts: [{ file: '', mark: 'nginx stream' }], publish: 'nginx stream publish' },
    },
  },
  {
    id: 'haproxy',
    name: 'HAProxy',
    purpose: 'Asks before it serves, and logs requests and connections.',
    needs: 'version 2.5 or later with Lua',
    mark: 'M4 6h4v4H4zM4 14h4v4H4zM16 10h4v4h-4zM8 8l8 3M8 16l8-3',
    asks: [
      { file: '/etc/haproxy/weir.lua', mark: 'haproxy lua' },
      { file: '/etc/haproxy/haproxy.cfg', mark: 'haproxy asks' },
    ],
    reload: 'systemctl reload haproxy',
    log: {
      https: { parts: [{ file: '', mark: 'haproxy log' }], publish: 'haproxy publish' },
      tcp: { parts: [{ file: '', mark: 'haproxy tcp log' }], publish: 'haproxy tcp publish' },
    },
  },
  {
    id: 'caddy',
    name: 'Caddy',
    purpose: 'Asks before it serves, and logs requests.',
    needs: '',
    mark: 'M6 11V8a6 6 0 0 1 12 0v3M5 11h14v10H5zM12 15v3',
    asks: [{ file: '/etc/caddy/Caddyfile', mark: 'caddy' }],
    reload: 'systemctl reload caddy',
    log: { https: { parts: [{ file: '', mark: 'caddy log' }], publish: 'caddy publish' } },
  },
  {
    id: 'traefik',
    name: 'Traefik',
    purpose: 'Asks before it serves, and logs requests.',
    needs: '',
    mark: 'M12 3v6M12 9l-7 6M12 9l7 6M12 9v6M3 15h4v6H3zM10 15h4v6h-4zM17 15h4v6h-4z',
    asks: [
      { file: '/etc/traefik/traefik.yml', mark: 'traefik' },
      { file: '/etc/traefik/weir.yml', mark: 'traefik asks' },
    ],
    reload: 'systemctl restart traefik',
    log: { https: { parts: [{ file: '', mark: 'traefik log' }], publish: 'traefik publish' } },
  },
  {
    id: 'envoy',
    name: 'Envoy',
    purpose: 'Asks before it serves, and logs requests and connections.',
    needs: '',
    mark: 'M3 6l9 5 9-5M3 6v12h18V6zM3 18l6-8M21 18l-6-8',
    asks: [{ file: 'envoy.yaml', mark: 'envoy asks' }],
    reload: 'envoy -c envoy.yaml',
    log: {
      https: { parts: [{ file: '', mark: 'envoy log' }], publish: 'envoy publish' },
      tcp: { parts: [{ file: '', mark: 'envoy log' }], publish: 'envoy publish' },
    },
  },
  {
    id: 'apache',
    name: 'Apache httpd',
    purpose: 'Logs requests.',
    needs: '',
    mark: 'M20 4C12 4 5 10 4 20M4 20c6 0 12-3 14-9M8 14l9-6',
    reload: 'systemctl reload apache2',
    log: { https: { parts: [{ file: '', mark: 'apache log' }], publish: 'apache publish' } },
  },
  {
    id: 'http',
    name: 'Another program',
    purpose: 'Sends its records by HTTP. Also for a first try by hand.',
    needs: '',
    mark: 'M4 17l5-5-5-5M12 19h8',
    reload: '',
    log: {
      https: { parts: [{ file: '', mark: 'a request' }] },
      tcp: { parts: [{ file: '', mark: 'a connection' }] },
    },
  },
]

export interface Filling {
  readonly edgeId: string
  readonly host: string
  readonly port: string
  /** The address of the API. */
  readonly apiUrl: string
  /** `127.0.0.1:8081`, where Weir answers proxies. */
  readonly weir: string
  /** The application behind the proxy. */
  readonly app: string
  /** Empty: none is made yet. */
  readonly key: string
}

/** The texts of a recipe that the values of a `Filling` replace. */
const placeholders = { edge: 'edghts_…', key: 'weir_…', host: 'www.example.com', app: '127.0.0.1:3000' }

/** The recipe with this edge's own names. */
export const filled = (mark: string, filling: Filling): string => filledText(recipes[mark] ?? '', filling)

/** In one pass, so that nothing is looked for in what is filled in, whatever it has. */
export function filledText(text: string, { edgeId, host, port, apiUrl, weir, app, key }: Filling): string {
  const [weirHost = '', weirPort = ''] = partsOf(weir)
  const [appHost = '', appPort = ''] = partsOf(app)
  const values: Readonly<Record<string, string>> = {
    'http://127.0.0.1:8080': apiUrl,
    '127.0.0.1:8081': weir,
    'address: 127.0.0.1, port_value: 8081': `address: ${weirHost}, port_value: ${weirPort}`,
    [placeholders.app]: app,
    'address: 127.0.0.1, port_value: 3000': `address: ${appHost}, port_value: ${appPort}`,
    [placeholders.edge]: edgeId,
    [placeholders.host]: host,
    '--server-port 443': `--server-port ${port}`,
    '"server_port": 443': `"server_port": ${port}`,
    [placeholders.key]: key === '' ? placeholders.key : key,
  }
  const places = new RegExp(Object.keys(values).map(escaped).join('|'), 'g')
  return text.replace(places, (place) => values[place] ?? place)
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Does what is pasted have the place of a key? */
export const needsKey = (mark: string): boolean => (recipes[mark] ?? '').includes(placeholders.key)

const partsOf = (address: string): readonly string[] => /^(.*):(\d+)$/.exec(address)?.slice(1) ?? [address]
