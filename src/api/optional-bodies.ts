/** Bodies that may be left out, in the OpenAPI document: @fastify/swagger calls every one of them required. */
import type { SwaggerTransformObject } from '@fastify/swagger'

type Operations = Readonly<Record<string, { readonly requestBody?: Body } | undefined>>

interface Body {
  readonly content: Readonly<Record<string, { readonly schema: { readonly required?: readonly string[] } }>>
}

/** An empty POST or PATCH is one with an empty object: that says enough where no field is required. */
const isNeeded = (method: string, { content }: Body): boolean =>
  method === 'put' || Object.values(content).some(({ schema }) => (schema.required ?? []).length > 0)

export const withOptionalBodies: SwaggerTransformObject = (document) => {
  if (!('openapiObject' in document)) throw new Error('The document is one of OpenAPI 3.')
  const { openapiObject } = document
  const paths = Object.entries((openapiObject.paths ?? {}) as Readonly<Record<string, Operations>>)
  return {
    ...openapiObject,
    paths: Object.fromEntries(paths.map(([path, operations]) => [path, withBodies(operations)])),
  }
}

const withBodies = (operations: Operations): Operations =>
  Object.fromEntries(
    Object.entries(operations).map(([method, operation]) => {
      const body = operation?.requestBody
      if (body === undefined) return [method, operation]
      return [method, { ...operation, requestBody: { ...body, required: isNeeded(method, body) } }]
    }),
  )
