/** Looks at JSON text before any parser, or writer of error messages, recurses into its brackets. */
import { jsonNestingMax } from './limits.js'

export interface JsonOutline {
  /** Are more brackets open at once than any document of ours needs? */
  readonly isTooDeep: boolean
  /** Of all objects together, repeated ones included; the text is JSON, where it is counted to the end. */
  readonly keys: number
}

export function outlineOf(text: string): JsonOutline {
  let depth = 0
  let keys = 0
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (inString) {
      if (char === 0x5c) at += 1
      else if (char === 0x22) inString = false
    } else if (char === 0x22) inString = true
    else if (char === 0x3a) keys += 1
    else if (char === 0x7b || char === 0x5b) {
      depth += 1
      if (depth > jsonNestingMax) return { isTooDeep: true, keys }
    } else if (char === 0x7d || char === 0x5d) depth -= 1
  }
  return { isTooDeep: false, keys }
}

export const isNestedTooDeep = (text: string): boolean => outlineOf(text).isTooDeep
