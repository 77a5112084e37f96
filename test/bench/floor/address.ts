/** Addresses in the programs that do only the least: IPv4, and nothing is checked. */
export function addressOf(text: string): number {
  let address = 0
  let part = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 46) {
      address = (address << 8) | part
      part = 0
    } else {
      part = part * 10 + code - 48
    }
  }
  return ((address << 8) | part) >>> 0
}
