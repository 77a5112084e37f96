/**
 * Pages that need no key: the web console; the playground; the API reference and its document; `GET /fields`, the field
 * reference; and `GET /schemas/<name>.json`, the JSON Schema of each record type and event kind.
 */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { recordSchemas } from '../../../delivery/record/record-schemas.js'
import type { TSchema } from '../../../ground/core/schema.js'
import type { AnyTrafficEvent } from '../../../words/event/define.js'
import { eventSchemas } from '../../../words/event/event-schemas.js'
import { fieldReference } from '../../../words/event/field-reference.js'
import type { AtOnce } from '../../http/bounds/at-once.js'
import { admitOpenPage } from '../../http/bounds/bounded-work.js'
import { Components } from '../../http/openapi/openapi-components.js'
import { decisionNames } from '../../insight/decision-names.js'
import { registerConsole, registerIcon, registerPlayground, registerReference } from './built-pages.js'
import { finishDocument, type OpenapiOptions, openapiHead } from './openapi-document.js'
import { type FileForm, jsonForm, servedOnce } from './served-file.js'

const schemaForm: FileForm = { ...jsonForm, type: 'application/schema+json' }

/** Options of routes that the document does not list. */
const hidden = { schema: { hide: true }, exposeHeadRoute: true }

/** Must be called before the first route is registered, because the document lists later routes only. */
export async function openReference(app: FastifyInstance, options: OpenapiOptions): Promise<void> {
  await app.register(swagger, {
    openapi: openapiHead(options),
    transformObject: finishDocument(options),
  })
}

export async function registerOpenPages(
  app: FastifyInstance,
  document: () => object,
  eventKinds: readonly AnyTrafficEvent[],
  missing: ReadonlySet<string>,
  atOnce: AtOnce,
): Promise<void> {
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, isOpen: true }
  })
  app.addHook('onRequest', (request, reply, done) => {
    admitOpenPage(atOnce, request.ip, reply)
    done()
  })
  app.get(
    '/openapi.json',
    hidden,
    servedOnce(jsonForm, () => JSON.stringify(document())),
  )
  registerFields(app, eventKinds, missing)
  registerIcon(app)
  await registerReference(app)
  await registerConsole(app)
  await registerPlayground(app)
}

/** A schema as a separate document: parts with a title are its definitions. */
function standalone(schema: TSchema): object {
  const components = new Components({})
  const root = components.moved<object>(schema)
  const whole = JSON.stringify({ ...root, $defs: components.schemas })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/')),
  }
}

function registerFields(
  app: FastifyInstance,
  eventKinds: readonly AnyTrafficEvent[],
  missing: ReadonlySet<string>,
): void {
  const reference = { ...fieldReference(eventKinds, missing), decisions: decisionNames(missing) }
  app.get(
    '/fields',
    hidden,
    servedOnce(jsonForm, () => JSON.stringify(reference)),
  )
  const named = [
    ...recordSchemas.map(({ type, schema }) => ({ name: type, schema })),
    ...eventSchemas(eventKinds).map(({ kind, schema }) => ({ name: kind, schema })),
  ]
  for (const { name, schema } of named) {
    const make = () => JSON.stringify(standalone(schema))
    app.get(`/schemas/${name}.json`, hidden, servedOnce(schemaForm, make))
  }
}
