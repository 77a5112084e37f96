/**
 * Patterns of reasons: letters with the same fault have reasons that differ in values, such as ids and addresses. In a
 * pattern, `…` stands for any text. No reason contains it: `headerText` replaces it.
 */

const rest = '…'

/** The beginning of a reason whose end quotes the text at fault. */
const notJson = 'It is not JSON: '

/** A checked member, its value or that it is missing, and what is allowed. */
const checkedForm = /^("[^"]*" is )(missing|.*)(; it must be .*)$/s

/** Other texts that differ between letters with the same fault: quoted values, ids, long numbers. */
const values: readonly RegExp[] = [
  /(?<= is )"(?:[^"\\]|\\.)*"/g,
  /\b[a-z]+_[0-9A-Za-z]{10,}\b/g,
  /\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g,
  /\b[0-9a-f]{16,}\b/g,
  /\b\d{3,}\b/g,
]

/** The pattern of a reason, which it matches. */
export function reasonPattern(reason: string): string {
  if (reason.startsWith(notJson)) return `${notJson}${rest}`
  const [, member, value, rule] = checkedForm.exec(reason) ?? []
  if (member !== undefined) return `${member}${value === 'missing' ? value : rest}${rule}`
  return values.reduce((text, form) => text.replaceAll(form, rest), reason)
}

/** Does a reason match a pattern? */
export function compileReasonPattern(pattern: string): (reason: string) => boolean {
  const [first = '', ...parts] = pattern.split(rest)
  const last = parts.pop()
  if (last === undefined) return (reason) => reason === first
  return (reason) => {
    if (!reason.startsWith(first)) return false
    let index = first.length
    for (const part of parts) {
      const found = reason.indexOf(part, index)
      if (found === -1) return false
      index = found + part.length
    }
    return reason.length - last.length >= index && reason.endsWith(last)
  }
}
