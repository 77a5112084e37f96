/**
 * The paths of every kind of resource, derived from the declarations. The console's bundle has this table as plain data,
 * because a browser needs nothing else of the declarations (`config/bundle-console.mjs`).
 */
import { type AnyResource, anyResource, isServed } from '../resource/kind/define.js'
import { declarations } from '../resource/registry.js'

export interface KindPaths {
  /** Ids begin with it: `ipp_`. */
  readonly idPrefix: string
  readonly path: string
  /** The member of a page that holds its entries. */
  readonly listName: string
  /** The field that names the parent in the path, if the kind lives below another one. */
  readonly parentField: string | undefined
  /** Modules and fields that can be detached, by the names they are shown under. */
  readonly parts: readonly string[]
}

const partsOf = ({ fields }: AnyResource): string[] =>
  Object.entries(fields).flatMap(([name, { fields: members, isDetachable, shown }]) => {
    if (members !== undefined) return [name]
    return isDetachable && shown !== 'hidden' ? [shown.name ?? name] : []
  })

const pathsOf = (resource: AnyResource): KindPaths => ({
  idPrefix: resource.idPrefix,
  path: resource.path,
  listName: resource.listName,
  parentField: resource.parent?.field,
  parts: partsOf(resource),
})

/** The paths of every kind that the API serves, by the client's name of the kind. */
export const kindTable: Readonly<Record<string, KindPaths>> = Object.fromEntries(
  Object.entries(declarations)
    .filter(([, declaration]) => isServed(declaration))
    .map(([name, declaration]) => [name, pathsOf(anyResource(declaration))]),
)
