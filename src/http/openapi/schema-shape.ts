/** The parts of a JSON schema that say which values it allows, for code that walks through schemas. */
import type { TSchema } from '../../core/schema.js'

interface Shape {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: unknown
  readonly required?: readonly string[]
  readonly items?: TSchema
  readonly minItems?: number
  readonly anyOf?: readonly TSchema[]
}

/** The schema's shape, without null if it allows null. */
export function shapeOf(schema: TSchema): Shape {
  const shape = schema as Shape
  const choice = shape.anyOf?.find((each) => (each as Shape).type !== 'null')
  return choice === undefined ? shape : shapeOf(choice)
}

/** A body in one of several forms: schemas by media type. */
export const inTypes = (schemas: Readonly<Record<string, TSchema>>): TSchema =>
  ({
    content: Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }])),
  }) as TSchema
