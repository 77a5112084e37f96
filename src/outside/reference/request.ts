/** A request of an operation: what it is made of, as a command, and as it is sent. */
import { shellArgument } from '../console/data/texts/shell.js'
import type { Operation, Parameter, Reference } from './document.js'

/** A request as it is filled in; an empty parameter is left out. */
export interface RequestDraft {
  /** By the place and name of the parameter: `query limit`. */
  readonly parameters: Readonly<Record<string, string>>
  /** The type of the body; empty: the operation takes none. */
  readonly contentType: string
  readonly body: string
}

export const keyOf = ({ in: place, name }: Parameter): string => `${place} ${name}`

/** The request with the examples of the document. Optional parameters are left out. */
export function exampleRequest(reference: Reference, operation: Operation): RequestDraft {
  const { parameters, requestBody } = operation
  const filled = parameters
    .filter(({ required }) => required)
    .map((each) => [keyOf(each), exampleText(reference, each)] as const)
  const [contentType = '', content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  return {
    parameters: Object.fromEntries(filled),
    contentType,
    body: content === undefined ? '' : exampleBody(reference, contentType, content),
  }
}

export function exampleBody(
  reference: Reference,
  contentType: string,
  { schema = {}, example }: NonNullable<Operation['requestBody']>['content'][string],
): string {
  const found = example ?? reference.exampleOf(schema)
  if (typeof found === 'string') return found
  return JSON.stringify(found, null, contentType === 'application/json' ? 2 : undefined) ?? ''
}

function exampleText(reference: Reference, { example, schema = {} }: Parameter): string {
  const found = example ?? reference.exampleOf(schema)
  return typeof found === 'string' ? found : (JSON.stringify(found) ?? '')
}

/** The address below `root`, with what is filled in. */
export function urlOf(root: string, { path, parameters }: Operation, draft: RequestDraft): string {
  const given = (each: Parameter): string => draft.parameters[keyOf(each)] ?? ''
  const filled = parameters
    .filter((each) => each.in === 'path' && given(each) !== '')
    .reduce((text, each) => text.replaceAll(`{${each.name}}`, encodeURIComponent(given(each))), path)
  const url = new URL(filled.replace(/^\//, ''), root)
  for (const each of parameters)
    if (each.in === 'query' && given(each) !== '') url.searchParams.set(each.name, given(each))
  return url.href
}

/** Headers besides the key. */
export function headersOf({ parameters }: Operation, draft: RequestDraft): Record<string, string> {
  const headers = parameters
    .filter((each) => each.in === 'header' && (draft.parameters[keyOf(each)] ?? '') !== '')
    .map((each) => [each.name, draft.parameters[keyOf(each)] ?? ''] as const)
  const type = hasBody(draft) ? [['Content-Type', draft.contentType] as const] : []
  return Object.fromEntries([...headers, ...type])
}

export const hasBody = ({ contentType, body }: RequestDraft): boolean => contentType !== '' && body !== ''

/** As a command for a terminal. The key comes from the environment, so that it is in no history. */
export function sampleOf(root: string, operation: Operation, draft: RequestDraft): string {
  const needsKey = operation.security.some((each) => 'key' in each)
  const lines = [
    `curl${operation.method === 'GET' ? '' : ` -X ${operation.method}`} ${shellArgument(urlOf(root, operation, draft))}`,
    ...(needsKey ? ['-H "Authorization: Bearer $WEIR_API_KEY"'] : []),
    ...Object.entries(headersOf(operation, draft)).map(
      ([name, value]) => `-H ${shellArgument(`${name}: ${value}`)}`,
    ),
    ...(hasBody(draft) ? [`--data-raw ${quotedLines(draft.body)}`] : []),
  ]
  return lines.join(' \\\n  ')
}

/** Its lines stay lines. */
const quotedLines = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
