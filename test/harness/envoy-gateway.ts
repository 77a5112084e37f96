/**
 * What Envoy Gateway makes of `docs/kubernetes/envoy-gateway.yaml`, as Envoy reads it: the members that it translates
 * (`extauth.go`, `credentialInjector.go` and `headers` of version 1.9.1), taken from the objects. Envoy Gateway itself is not
 * asked: it takes half an hour to build.
 */
import { readFileSync } from 'node:fs'
import { type Manifest, manifestsIn } from './helm.js'
import { envoyCluster, envoyHttp } from './mesh-log-programs.js'

interface Ports {
  readonly envoy: number
  readonly weir: number
  readonly app: number
}

const objects = manifestsIn(readFileSync('docs/kubernetes/envoy-gateway.yaml', 'utf8'))
const specOf = (kind: string): Manifest['spec'] => objects.find((each) => each.kind === kind)!['spec']

const typed = (name: string, members: object = {}) => ({
  '@type': `type.googleapis.com/envoy.extensions.${name}`,
  ...members,
})

const filter = (name: string, config: object) => ({ name, typed_config: config })

/** Adds the key of a Secret to every request. */
function injector(): object {
  const { header, overwrite, credential } = specOf('HTTPRouteFilter').credentialInjection
  const generic = typed('http.injected_credentials.generic.v3.Generic', {
    credential: { name: credential.valueRef.name },
    header,
  })
  return filter(
    'envoy.filters.http.credential_injector',
    typed('filters.http.credential_injector.v3.CredentialInjector', {
      overwrite,
      credential: { name: 'envoy.http.injected_credentials.generic', typed_config: generic },
    }),
  )
}

function authorizer(failOpen: boolean | undefined): object {
  const { extAuth } = specOf('SecurityPolicy')
  const { http, headersToExtAuth, timeout } = extAuth
  return filter(
    'envoy.filters.http.ext_authz',
    typed('filters.http.ext_authz.v3.ExtAuthz', {
      failure_mode_allow: failOpen ?? extAuth.failOpen,
      allowed_headers: { patterns: headersToExtAuth.map((exact: string) => ({ exact, ignore_case: true })) },
      http_service: {
        path_prefix: http.path,
        // Envoy takes seconds alone.
        server_uri: {
          uri: 'http://weir',
          cluster: 'weir',
          timeout: `${Number.parseInt(timeout, 10) / 1000}s`,
        },
      },
    }),
  )
}

/** In the order that the EnvoyProxy asks for; Envoy Gateway's own has the injector last. */
function filters(failOpen: boolean | undefined): object[] {
  const [order] = specOf('EnvoyProxy').filterOrder
  const isBefore = order.name.endsWith('credential_injector') && order.before.endsWith('ext_authz')
  const [asked, added] = [authorizer(failOpen), injector()]
  const router = filter('envoy.filters.http.router', typed('filters.http.router.v3.Router'))
  return [...(isBefore ? [added, asked] : [asked, added]), router]
}

/** The configuration of an Envoy. `failOpen` replaces that of the example. */
export function envoyOfGateway(
  dir: string,
  { envoy, weir, app }: Ports,
  key: string,
  failOpen?: boolean,
): object {
  const { hostnames, rules } = specOf('HTTPRoute')
  const removed = rules[0].filters.flatMap((each: Manifest) => each['requestHeaderModifier']?.remove ?? [])
  const { path, headers } = specOf('ClientTrafficPolicy')
  const manager = {
    use_remote_address: true,
    merge_slashes: !path.disableMergeSlashes,
    path_with_escaped_slashes_action:
      path.escapedSlashesAction === 'KeepUnchanged' ? 'KEEP_UNCHANGED' : undefined,
    strip_trailing_host_dot: headers.host.stripTrailingHostDot,
    common_http_protocol_options: {
      headers_with_underscores_action:
        headers.withUnderscoresAction === 'RejectRequest' ? 'REJECT_REQUEST' : 'ALLOW',
    },
    http_filters: filters(failOpen),
    route_config: {
      virtual_hosts: [
        {
          name: 'app',
          domains: hostnames,
          request_headers_to_remove: removed,
          routes: [{ match: { prefix: '/' }, route: { cluster: 'app' } }],
        },
      ],
    },
  }
  const { name } = specOf('HTTPRouteFilter').credentialInjection.credential.valueRef
  return {
    static_resources: {
      listeners: [envoyHttp(dir, 'gateway', envoy, manager)],
      clusters: [envoyCluster('weir', weir), envoyCluster('app', app)],
      secrets: [{ name, generic_secret: { secret: { inline_string: key } } }],
    },
  }
}
