/** Servers with public and private content, each behind what their users write to tell one from the other. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configuredNginx } from '../../harness/nginx-file.js'

/** A configuration of a server, on a port of its own. */
export interface Site {
  readonly name: string
  /** The paths that Weir is asked to protect: `listed` ones, or all but `public` ones. */
  readonly protects: 'listed' | 'all but public'
  /** The server's configuration for this port. */
  readonly text: (port: number) => string
}

export interface TargetServer {
  readonly name: string
  readonly program: string
  readonly sites: (place: Place) => readonly Site[]
  /** Writes the configuration of all sites; returns the arguments. */
  readonly args: (place: Place, sites: string) => readonly string[]
}

export interface Place {
  readonly dir: string
  /** Files: those below `private` and `admin`, and `secret`, are private. */
  readonly root: string
  /** An application: `127.0.0.1:8080`. */
  readonly app: string
}

/** The files; those who serve them may be another user. */
export function writeFiles(dir: string): string {
  const root = join(dir, 'root')
  for (const folder of ['private', 'admin', 'public', 'zz']) {
    mkdirSync(join(root, folder), { recursive: true })
    const content =
      folder === 'private' || folder === 'admin' ? 'PRIVATE' : folder === 'public' ? 'PUBLIC' : 'OTHER'
    for (const name of ['x', 'index.html']) writeFileSync(join(root, folder, name), content)
  }
  writeFileSync(join(root, 'secret'), 'PRIVATE')
  writeFileSync(join(root, 'index.html'), 'OTHER')
  for (const each of [dir, root]) chmodSync(each, 0o755)
  return root
}

const site = (name: string, protects: Site['protects'], text: Site['text']): Site => ({
  name,
  protects,
  text,
})

// --- nginx ---

const inNginx = (name: string, protects: Site['protects'], text: string): Site =>
  site(
    name,
    protects,
    (port) =>
      `server { listen 127.0.0.1:${port}; add_header X-Target $request_uri always; default_type text/plain; ${text} }`,
  )

const nginxPrivate = `location /private/ { return 200 PRIVATE; } location ~ ^/admin/ { return 200 PRIVATE; }
location = /secret { return 200 PRIVATE; } location / { return 200 OTHER; }`

export const nginx: TargetServer = {
  name: 'nginx',
  program: '/usr/sbin/nginx',
  sites: ({ root, app }) => [
    inNginx('files', 'listed', `root "${root}";`),
    inNginx('files, slashes not merged', 'listed', `merge_slashes off; root "${root}";`),
    inNginx('locations', 'listed', nginxPrivate),
    inNginx('locations, slashes not merged', 'listed', `merge_slashes off; ${nginxPrivate}`),
    inNginx(
      'all but a location',
      'all but public',
      'location /public/ { return 200 PUBLIC; } location / { return 200 PRIVATE; }',
    ),
    inNginx('a proxy', 'listed', `location / { proxy_pass http://${app}; }`),
    inNginx('a proxy with a URI', 'listed', `location / { proxy_pass http://${app}/; }`),
    inNginx('a proxy with the decoded URI', 'listed', `location / { proxy_pass http://${app}$uri; }`),
    inNginx(
      'a proxy of all but public',
      'all but public',
      `merge_slashes off; location / { proxy_pass http://${app}; }`,
    ),
  ],
  args: ({ dir }, sites) => configuredNginx(dir, `error_log error.log crit; access_log off;\n${sites}`),
}

// --- HAProxy ---

const returned = (body: string): string =>
  `http-request return status 200 content-type text/plain string ${body} hdr x-target %[var(txn.target)]`

const inHaproxy = (name: string, protects: Site['protects'], text: string): Site =>
  site(
    name,
    protects,
    (port) => `frontend f${port}
bind 127.0.0.1:${port}
http-request set-var(txn.target) url
http-after-response set-header x-target %[var(txn.target)]
${text}
default_backend app
`,
  )

const haproxyPrivate = `${returned('PRIVATE')} if { path_beg /private/ /admin/ } || { path /secret }`

const cleaned = [
  'path-merge-slashes',
  'path-strip-dot',
  'path-strip-dotdot full',
  'percent-decode-unreserved',
  'percent-to-uppercase',
]

export const haproxy: TargetServer = {
  name: 'HAProxy',
  program: '/usr/sbin/haproxy',
  sites: () => [
    inHaproxy('Node', 'listed', ''),
    inHaproxy('Node, all but public', 'all but public', ''),
    inHaproxy('paths', 'listed', haproxyPrivate),
    inHaproxy(
      'decoded paths',
      'listed',
      `${returned('PRIVATE')} if { path,url_dec -m beg /private/ /admin/ } || { path,url_dec /secret }`,
    ),
    inHaproxy('all but a path', 'all but public', `${returned('PRIVATE')} unless { path_beg /public/ }`),
    ...cleaned.map((each) =>
      inHaproxy(
        `${each}, then paths and Node`,
        'listed',
        `http-request normalize-uri ${each}\n${haproxyPrivate}`,
      ),
    ),
    inHaproxy(
      'cleaned, then paths and Node',
      'listed',
      `${cleaned.map((each) => `http-request normalize-uri ${each}`).join('\n')}\n${haproxyPrivate}`,
    ),
    inHaproxy(
      'cleaned in the other order',
      'listed',
      `${cleaned
        .toReversed()
        .map((each) => `http-request normalize-uri ${each}`)
        .join('\n')}\n${haproxyPrivate}`,
    ),
  ],
  args: ({ dir, app }, sites) => {
    const file = join(dir, 'haproxy.cfg')
    writeFileSync(
      file,
      `global
expose-experimental-directives
defaults
mode http
timeout client 30s
timeout server 30s
timeout connect 5s
${sites}
backend app
server app ${app}
`,
    )
    return ['-db', '-f', file]
  },
}

// --- Apache ---

const modules = ['mpm_event', 'authz_core', 'dir', 'headers', 'proxy', 'proxy_http', 'alias', 'rewrite']
const moduleDir = '/usr/lib/apache2/modules'

const inApache = (name: string, protects: Site['protects'], text: string): Site =>
  site(
    name,
    protects,
    (port) => `Listen 127.0.0.1:${port}
<VirtualHost 127.0.0.1:${port}>
Header always set X-Target "expr=%{THE_REQUEST}"
${text}
</VirtualHost>
`,
  )

const apachePrivate = `<LocationMatch "^/(private|admin)/|^/secret$">
Header always set X-Private location
</LocationMatch>`

export const apache: TargetServer = {
  name: 'Apache',
  program: '/usr/sbin/apache2',
  sites: ({ root, app }) => {
    const files = `DocumentRoot "${root}"\n${apachePrivate}`
    return [
      inApache('files', 'listed', files),
      inApache('files, encoded slashes', 'listed', `AllowEncodedSlashes On\n${files}`),
      inApache('files, encoded slashes kept', 'listed', `AllowEncodedSlashes NoDecode\n${files}`),
      inApache('files, slashes not merged', 'listed', `MergeSlashes Off\nAllowEncodedSlashes On\n${files}`),
      inApache(
        'all but a location',
        'all but public',
        `DocumentRoot "${root}"
Header always set X-Not-Public location "expr=! %{REQUEST_URI} =~ m#^/public/#"`,
      ),
      inApache(
        'a rewrite',
        'listed',
        `RewriteEngine On
RewriteRule "^/(private/|admin/|secret$)" - [E=found:1]
Header always set X-Private rewrite env=found
DocumentRoot "${root}"`,
      ),
      inApache('a proxy', 'listed', `AllowEncodedSlashes NoDecode\nProxyPass "/" "http://${app}/"`),
      inApache(
        'a proxy of what was sent',
        'listed',
        `AllowEncodedSlashes NoDecode\nProxyPass "/" "http://${app}/" nocanon`,
      ),
      inApache(
        'a proxy, slashes decoded',
        'listed',
        `AllowEncodedSlashes On\nProxyPass "/" "http://${app}/"`,
      ),
    ]
  },
  args: ({ dir, root }, sites) => {
    const file = join(dir, 'apache.conf')
    const loads = modules.map((name) => `LoadModule ${name}_module ${moduleDir}/mod_${name}.so`)
    writeFileSync(
      file,
      `ServerRoot "${dir}"
ServerName localhost
PidFile "${join(dir, 'apache.pid')}"
DefaultRuntimeDir "${dir}"
ErrorLog "${join(dir, 'apache.log')}"
LogLevel error
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
${loads.join('\n')}
HttpProtocolOptions Unsafe
DirectoryIndex index.html
<Directory "${root}">
Require all granted
</Directory>
${sites}
`,
    )
    return ['-D', 'FOREGROUND', '-f', file]
  },
}

// --- Caddy ---

const inCaddy = (name: string, protects: Site['protects'], text: string): Site =>
  site(
    name,
    protects,
    (port) => `http://127.0.0.1:${port}, http://h:${port}, http://:${port} {
header X-Target {http.request.orig_uri}
${text}
}
`,
  )

const caddyPrivate = `handle /private/* {
respond PRIVATE
}
handle /admin/* {
respond PRIVATE
}
handle /secret {
respond PRIVATE
}
handle {
respond OTHER
}`

export const caddy: TargetServer = {
  name: 'Caddy',
  program: '/usr/bin/caddy',
  sites: ({ root, app }) => [
    inCaddy('files', 'listed', `root * "${root}"\nfile_server`),
    inCaddy('paths', 'listed', caddyPrivate),
    inCaddy(
      'patterns',
      'listed',
      '@found path_regexp ^/(?:private/|admin/|secret$)\nrespond @found PRIVATE\nrespond OTHER',
    ),
    inCaddy(
      'all but a path',
      'all but public',
      'handle /public/* {\nrespond PUBLIC\n}\nhandle {\nrespond PRIVATE\n}',
    ),
    inCaddy('a proxy', 'listed', `reverse_proxy ${app}`),
    inCaddy('a proxy, all but public', 'all but public', `reverse_proxy ${app}`),
  ],
  args: ({ dir }, sites) => {
    const file = join(dir, 'Caddyfile')
    writeFileSync(file, `{\nadmin off\nauto_https off\n}\n${sites}`)
    return ['run', '--config', file, '--adapter', 'caddyfile']
  },
}

export const isInstalled = ({ program }: TargetServer): boolean => existsSync(program)
