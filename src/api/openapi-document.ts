/** The last touch to the OpenAPI document: what @fastify/swagger can't say of an operation, or says otherwise. */
import type { SwaggerTransformObject } from '@fastify/swagger'
import { versionParameter } from './openapi.js'

type Operations = Readonly<Record<string, Operation | undefined>>

interface Operation {
  readonly parameters?: readonly object[]
  readonly requestBody?: Body
}

interface Body {
  readonly content: Readonly<Record<string, { readonly schema: { readonly required?: readonly string[] } }>>
}

export const finishedDocument: SwaggerTransformObject = (document) => {
  if (!('openapiObject' in document)) throw new Error('The document is one of OpenAPI 3.')
  const { openapiObject } = document
  const paths = Object.entries((openapiObject.paths ?? {}) as Readonly<Record<string, Operations>>)
  return {
    ...openapiObject,
    paths: Object.fromEntries(paths.map(([path, operations]) => [path, finished(operations)])),
  }
}

const finished = (operations: Operations): Operations =>
  Object.fromEntries(
    Object.entries(operations).map(([method, operation]) => [
      method,
      operation && withVersion(withOptionalBody(method, operation)),
    ]),
  )

const withVersion = (operation: Operation): Operation => ({
  ...operation,
  parameters: [...(operation.parameters ?? []), { $ref: `#/components/parameters/${versionParameter}` }],
})

/** @fastify/swagger calls every body required. */
const withOptionalBody = (method: string, operation: Operation): Operation => {
  const { requestBody } = operation
  if (requestBody === undefined) return operation
  return { ...operation, requestBody: { ...requestBody, required: isNeeded(method, requestBody) } as Body }
}

/** An empty POST or PATCH is one with an empty object: that says enough where no field is required. */
const isNeeded = (method: string, { content }: Body): boolean =>
  method === 'put' || Object.values(content).some(({ schema }) => (schema.required ?? []).length > 0)
