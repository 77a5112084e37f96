/** The API's own document: what may be written, and what each member means. Asked for once. */
import type { KindWords } from '../../../../words/shape/delivery/target-words.js'
import { root } from '../location.js'

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly 'x-secret'?: boolean
  /** The words and tiles of a destination's target. */
  readonly 'x-setup'?: KindWords
}

type Schemas = Readonly<Record<string, Schema>>

let asked: Promise<Schemas> | undefined

/** Its schemas by their names. A failure is thrown, and asked for again by the next. */
export function apiSchemas(): Promise<Schemas> {
  asked ??= fetchSchemas().catch((error: unknown) => {
    asked = undefined
    throw error
  })
  return asked
}

/** The message of the answer, or its status if a proxy made it. */
async function reasonOf(response: Response): Promise<string> {
  const answer = (await response.json().catch(() => null)) as { readonly msg?: string } | null
  return answer?.msg ?? `status ${response.status}.`
}

async function fetchSchemas(): Promise<Schemas> {
  const response = await fetch(`${root}openapi.json`)
  if (!response.ok) throw new Error(`The API's document was not answered: ${await reasonOf(response)}`)
  const { components } = (await response.json()) as { readonly components: { readonly schemas: Schemas } }
  return components.schemas
}
