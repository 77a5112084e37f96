/** What resources look like in responses and audit events, as schemas. */
import { type TSchema, Type } from '../core/schema.js'
import type { AnyResource } from './define.js'
import { shownSchemaOf } from './fields.js'
import { resources } from './registry.js'

const childKinds = new Map(
  resources.map(({ kind }) => [kind, resources.filter(({ parent }) => parent?.kind === kind)]),
)

/** Kinds that live under the resource's path. */
export const childKindsOf = (resource: AnyResource): readonly AnyResource[] =>
  childKinds.get(resource.kind) ?? []

/** The schema of a shown resource. */
export const resourceSchema = (resource: AnyResource): TSchema => {
  const fields = (shownSchemaOf(resource.fields) as unknown as { properties: Record<string, TSchema> })
    .properties
  const required = (shownSchemaOf(resource.fields) as unknown as { required?: string[] }).required ?? []
  const optional = (name: string, schema: TSchema): TSchema =>
    required.includes(name) ? schema : Type.Optional(schema)
  return Type.Object(
    {
      id: Type.String({ description: `Begins with "${resource.idPrefix}".` }),
      uri: Type.String(),
      created_at: Type.String({ format: 'date-time' }),
      ...Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, optional(name, schema)])),
      ...Object.fromEntries(
        childKindsOf(resource).map((child) => [child.listName, Type.Array(resourceSchema(child))]),
      ),
    },
    { additionalProperties: false },
  )
}
