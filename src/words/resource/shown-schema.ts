/** Schemas of resources in responses and audit events. */
import { objectOf, type TSchema, Type } from '../../ground/core/schema.js'
import { hasObserved, shownMembersOf, storedFields } from './fields/fields.js'
import { componentName, idSchema, uriSchema } from './fields/id-schema.js'
import type { AnyResource } from './kind/define.js'
import { resources } from './registry.js'

const childKinds = new Map(
  resources.map(({ kind }) => [kind, resources.filter(({ parent }) => parent?.kind === kind)]),
)

/** Kinds that live under the resource's path. */
export const childKindsOf = (resource: AnyResource): readonly AnyResource[] =>
  childKinds.get(resource.kind) ?? []

/** The schema of a shown resource. */
export const resourceSchema = (resource: AnyResource): TSchema =>
  objectOf(
    {
      ...ownMembers(resource),
      ...Object.fromEntries(
        childKindsOf(resource).map((child) => [child.listName, Type.Array(resourceSchema(child))]),
      ),
    },
    { title: componentName(resource.kind), description: resource.about },
  )

/** The schema of a resource in its audit events: without those below its path, and without what is observed. */
export const auditedSchema = (resource: AnyResource): TSchema =>
  childKindsOf(resource).length === 0 && !hasObserved(resource.fields)
    ? resourceSchema(resource)
    : objectOf(ownMembers({ ...resource, fields: storedFields(resource.fields) }), {
        title: `${componentName(resource.kind)}InEvent`,
        description: resource.about,
      })

const ownMembers = ({ kind, idPrefix, fields }: AnyResource): Record<string, TSchema> => ({
  id: idSchema(kind, idPrefix),
  uri: uriSchema,
  created_at: Type.String({ format: 'date-time' }),
  ...shownMembersOf(fields),
})
