/**
 * A number with more digits than a double has is another number once it is parsed: a complaint about it shows what was
 * sent, as the text of the record has it.
 */
import { placeIn } from '../core/text/json-place.js'

/** A complaint that shows a number; those beyond all doubles are shown as null. */
const shownForm = /^"([\w.]+)" is (-?\d[\d.e+-]*|null); it must be /
const numberForm = /-?\d[\d.eE+-]*/y
const shownCharsMax = 80

export function withNumberAsSent(complaint: string, text: string): string {
  const [, member, value] = shownForm.exec(complaint) ?? []
  if (member === undefined || value === undefined || Number.isSafeInteger(Number(value))) return complaint
  numberForm.lastIndex = placeIn(text, member.split('.'))?.index ?? text.length
  const [sent] = numberForm.exec(text) ?? []
  if (sent === undefined) return complaint
  const shown = sent.length <= shownCharsMax ? sent : `${sent.slice(0, shownCharsMax)}…`
  return complaint.replace(`is ${value};`, () => `is ${shown};`)
}
