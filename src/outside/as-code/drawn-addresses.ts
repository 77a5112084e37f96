/**
 * Addresses that Weir draws: `${addr:NAME}` in the hostports of an edge is the one of the reserved address with this name. One
 * that is to be made has none yet, and something in its place for now.
 */
import type { JsonObject } from '../../ground/core/json-object.js'

const form = /^\$\{addr:([^{}]+)\}$/

/** Does a text of a file stand for such an address? */
export const namesAddress = (text: string): boolean => form.test(text)

/** In place of the address of a reservation that is to be made. */
export const addressToBe = (provisionalId: string): string =>
  `${provisionalId.replaceAll(/[^0-9A-Za-z]/g, '').toLowerCase()}.invalid:1`

export const isAddressToBe = (hostport: string): boolean => hostport.endsWith('.invalid:1')

/** A copy of an edge as it is written, with its addresses. A name that nobody has stays. */
export function withAddresses(values: JsonObject, addresses: ReadonlyMap<string, string>): JsonObject {
  const { hostports } = values
  if (!Array.isArray(hostports)) return values
  const replaced = hostports.map((each: unknown) => {
    const [, name] = typeof each === 'string' ? (form.exec(each) ?? []) : []
    return (name === undefined ? undefined : addresses.get(name)) ?? each
  })
  return { ...values, hostports: replaced }
}

/** The inverse. `names`: by address. */
export const namedAddresses = (body: JsonObject, names: ReadonlyMap<string, string>): JsonObject =>
  Array.isArray(body['hostports'])
    ? {
        ...body,
        hostports: body['hostports'].map((each: string) =>
          names.has(each) ? `\${addr:${names.get(each)}}` : each,
        ),
      }
    : body
