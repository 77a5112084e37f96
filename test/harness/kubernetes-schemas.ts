/**
 * Schemas of Kubernetes and of what extends it, as `kubeconform` reads them: made from the OpenAPI documents and the
 * CustomResourceDefinitions in modules of Go that their projects publish, so a test needs no other source, and the
 * repository no copy.
 *
 * Members that a schema does not name are refused. The rules in CEL that definitions carry are not evaluated.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { type GoModule, goModule } from './go-program.js'

interface Source extends GoModule {
  readonly files: readonly string[]
  readonly read: (text: string) => Iterable<KindSchema>
}

interface KindSchema {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly schema: object
}

type Json = Readonly<Record<string, unknown>>

const openApi = 'api/openapi-spec/v3'

const sources: readonly Source[] = [
  {
    path: 'k8s.io/kubernetes',
    version: 'v1.36.0',
    sum: 'h1:JKaAkgSzI4+ZvNWrNJg56jAkUaOiqgBaJstmi6ycyoU=',
    files: [
      'api__v1',
      'apis__apps__v1',
      'apis__autoscaling__v2',
      'apis__networking.k8s.io__v1',
      'apis__policy__v1',
    ].map((name) => `${openApi}/${name}_openapi.json`),
    read: kindsOfOpenApi,
  },
  {
    path: 'github.com/kedacore/keda/v2',
    version: 'v2.21.0',
    sum: 'h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
    read: kindsOfDefinitions,
  },
  {
    path: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['servicemonitors', 'prometheusrules'].map(
      (name) => `example/prometheus-operator-crd/monitoring.coreos.com_${name}.yaml`,
    ),
    read: kindsOfDefinitions,
  },
  {
    path: 'sigs.k8s.io/gateway-api',
    version: 'v1.6.1',
    sum: 'h1:mock6phZbI6rvZerwrVNk7hVNymQgHo+6sJ81Ia7ftY=',
    files: ['gatewayclasses', 'gateways', 'httproutes', 'referencegrants'].map(
      (name) => `config/crd/standard/gateway.networking.k8s.io_${name}.yaml`,
    ),
    read: kindsOfDefinitions,
  },
  {
    path: 'github.com/envoyproxy/gateway',
    version: 'v1.9.1',
    sum: 'h1:vAVp6/AlBXJ1aOhp1mxL7fNEzVEfjADUguUhm2wzxQY=',
    files: ['clienttrafficpolicies', 'envoyproxies', 'httproutefilters', 'securitypolicies'].map(
      (name) => `charts/gateway-crds-helm/templates/generated/gateway.envoyproxy.io_${name}.yaml`,
    ),
    read: kindsOfDefinitions,
  },
  {
    path: 'github.com/traefik/traefik/v3',
    version: 'v3.7.13',
    sum: 'h1:T8wy9KuaFzCkmXCqAzDy7t73pBDR1DHrJe3pqXpNXTw=',
    files: ['docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml'],
    read: kindsOfDefinitions,
  },
]

/** Writes a file for each kind, `GROUP/KIND-VERSION.json`; returns what is missing. */
export function writeSchemas(dir: string): { readonly missing: string } | undefined {
  for (const { files, read, ...module } of sources) {
    const found = goModule(module)
    if ('missing' in found) return found
    for (const file of files) {
      for (const { group, version, kind, schema } of read(readFileSync(join(found.dir, file), 'utf8'))) {
        // As kubeconform calls the group that has no name.
        const folder = join(dir, group === '' ? version : group)
        mkdirSync(folder, { recursive: true })
        writeFileSync(join(folder, `${kind.toLowerCase()}-${version}.json`), JSON.stringify(schema))
      }
    }
  }
  return undefined
}

/** Each kind is a reference into the same definitions. */
function* kindsOfOpenApi(text: string): Generator<KindSchema> {
  const document = JSON.parse(text.replaceAll('#/components/schemas/', '#/definitions/')) as {
    readonly components: { readonly schemas: Readonly<Record<string, Json>> }
  }
  const { schemas } = document.components
  const definitions = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, strict(schema)]),
  )
  for (const [name, schema] of Object.entries(schemas)) {
    const kinds = (schema['x-kubernetes-group-version-kind'] ?? []) as Omit<KindSchema, 'schema'>[]
    // Those of several groups, such as DeleteOptions, are parts of requests.
    const [kind] = kinds
    if (kind !== undefined && kinds.length === 1)
      yield { ...kind, schema: { $ref: `#/definitions/${name}`, definitions } }
  }
}

interface Definition {
  readonly kind: string
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly {
      readonly name: string
      readonly schema: { readonly openAPIV3Schema: Json }
    }[]
  }
}

function* kindsOfDefinitions(text: string): Generator<KindSchema> {
  // Charts put conditions of their templates around a definition.
  const plain = text.replaceAll(/^\{\{.*\}\}$/gm, '')
  for (const document of parseAllDocuments(plain)) {
    const definition = document.toJS() as Definition | null
    if (definition?.kind !== 'CustomResourceDefinition') continue
    const { group, names, versions } = definition.spec
    for (const { name, schema } of versions)
      yield { group, version: name, kind: names.kind, schema: strict(schema.openAPIV3Schema) as object }
  }
}

/** The schema, in which an object has no members but those that it names, unless it takes any. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict)
  if (typeof schema !== 'object' || schema === null) return schema
  const { additionalProperties, ...rest } = schema as Json
  const members = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      // Names of members are no words of a schema.
      key === 'properties'
        ? Object.fromEntries(Object.entries(value as Json).map(([name, of]) => [name, strict(of)]))
        : strict(value),
    ]),
  )
  if (additionalProperties !== undefined)
    return { ...members, additionalProperties: strict(additionalProperties) }
  const isClosed = 'properties' in rest && rest['x-kubernetes-preserve-unknown-fields'] !== true
  return isClosed ? { ...members, additionalProperties: false } : members
}
