/** Looks at the brackets of JSON text before any parser, or writer of error messages, recurses into them. */
import { jsonNestingMax } from './limits.js'

/** Are more brackets open at once than any document of ours needs? */
export function isNestedTooDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (inString) {
      if (char === 0x5c) at += 1
      else if (char === 0x22) inString = false
    } else if (char === 0x22) inString = true
    else if (char === 0x7b || char === 0x5b) {
      depth += 1
      if (depth > jsonNestingMax) return true
    } else if (char === 0x7d || char === 0x5d) depth -= 1
  }
  return false
}
