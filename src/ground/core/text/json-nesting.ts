/** Scans JSON text before any parser or error message recurses into its brackets. */
import { jsonNestingMax } from '../limits.js'

interface JsonOutline {
  /** Is it nested deeper than any of Weir's documents needs? */
  readonly isTooDeep: boolean
  /** Keys of all objects together, including repeated ones. Complete only for valid JSON that is not too deep. */
  readonly keys: number
  /** Objects and lists. Complete like `keys`. */
  readonly containers: number
  /** Objects, lists, and the members and elements that follow another. Complete like `keys`. */
  readonly values: number
}

export function outlineOf(text: string): JsonOutline {
  let depth = 0
  let keys = 0
  let containers = 0
  let commas = 0
  let inString = false
  const outline = (isTooDeep: boolean): JsonOutline => ({
    isTooDeep,
    keys,
    containers,
    values: containers + commas,
  })
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index)
    if (inString) {
      if (char === 0x5c) index += 1
      else if (char === 0x22) inString = false
    } else if (char === 0x22) inString = true
    else if (char === 0x3a) keys += 1
    else if (char === 0x2c) commas += 1
    else if (char === 0x7b || char === 0x5b) {
      containers += 1
      depth += 1
      if (depth > jsonNestingMax) return outline(true)
    } else if (char === 0x7d || char === 0x5d) depth -= 1
  }
  return outline(false)
}

export const isNestedTooDeep = (text: string): boolean => outlineOf(text).isTooDeep
