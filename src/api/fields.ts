/** `GET /fields`, the field reference, and `GET /schemas/<name>.json`, the JSON Schema of each record type and event kind. */
import type { FastifyInstance } from 'fastify'
import type { TSchema } from '../core/schema.js'
import type { AnyTrafficEvent } from '../event/define.js'
import { eventSchemas } from '../event/event-schemas.js'
import { fieldReference } from '../event/field-reference.js'
import { recordSchemas } from '../record/record-schemas.js'
import { Components } from './openapi-components.js'

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

export function registerFields(app: FastifyInstance, eventKinds: readonly AnyTrafficEvent[]): void {
  const hidden = { schema: { hide: true }, exposeHeadRoute: true }
  const reference = fieldReference(eventKinds)
  app.get('/fields', hidden, () => reference)
  const named = [
    ...recordSchemas.map(({ type, schema }) => ({ name: type, schema })),
    ...eventSchemas(eventKinds).map(({ kind, schema }) => ({ name: kind, schema })),
  ]
  for (const { name, schema } of named) {
    // Made when it is first asked for: all of them would cost a start some 40 ms.
    let document: object | undefined
    app.get(`/schemas/${name}.json`, hidden, (_request, reply) => {
      document ??= standalone(schema)
      return reply.type('application/schema+json').send(document)
    })
  }
}
