/** Hosts in places where a log may have something else, such as a header that was captured. */
import type { Given } from './format.js'
import { splitAddress } from './values.js'

const hostForm = /^(?=.*[\p{L}.:])(?:[\p{L}\p{N}_.-]+|\[[\da-f:.]+\])(?::\d+)?$/iu

/**
 * The text if it may be a host. An address without a port may be that of a client: proxies write `X-Forwarded-For` in such
 * places. If a name is given, because the log has none, that is what it is.
 */
export function hostIn(text: string, given: Given | undefined): string | undefined {
  if (isBareAddress(text)) return given?.serverName === undefined ? text : undefined
  return hostForm.test(text) ? text : undefined
}

/** Only a host has brackets. */
export const isBareAddress = (text: string): boolean =>
  !text.startsWith('[') && splitAddress(text)?.port === undefined && splitAddress(text) !== undefined
