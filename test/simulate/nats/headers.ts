/** Headers of messages: https://github.com/nats-io/nats-architecture-and-design/blob/main/adr/ADR-4.md. */

const versionLine = 'NATS/1.0'

/** By the names as they were sent; of several values of a name the first. */
export function readHeaders(bytes: Buffer | undefined): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  if (bytes === undefined) return values
  for (const line of bytes.toString('utf8').split('\r\n').slice(1)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    if (colon > 0 && !values.has(name)) values.set(name, line.slice(colon + 1).trim())
  }
  return values
}

/** `status`: such as `404 No Messages`; empty for a message. */
export function writeHeaders(status: string, values: Readonly<Record<string, string | number>> = {}): Buffer {
  const lines = Object.entries(values).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${versionLine}${status === '' ? '' : ` ${status}`}\r\n${lines.join('')}\r\n`)
}

/** Of a message whose data is left out: with its size. */
export function withSize(headers: Buffer | undefined, dataBytes: number): Buffer {
  const size = `Nats-Msg-Size: ${dataBytes}\r\n\r\n`
  return headers === undefined
    ? Buffer.from(`${versionLine}\r\n${size}`)
    : Buffer.concat([headers.subarray(0, -2), Buffer.from(size)])
}
