/** Times as text: RFC 3339, section 5.6. */

const form =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Leap seconds may be written. */
export const isTimestamp = (text: string): boolean => form.test(text) && isDayOfMonth(text)

/** Of text that has the form: days beyond the 28th are not in every month. */
function isDayOfMonth(text: string): boolean {
  const day = Number(text.slice(8, 10))
  return (
    day <= 28 || day <= new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  )
}

/** Whole seconds since the epoch, a fraction left out; a leap second is the one after it. Undefined for what is no time. */
export function parseTimestamp(text: string): number | undefined {
  if (!isTimestamp(text)) return undefined
  const isLeap = text.slice(17, 19) === '60'
  const plain = isLeap ? `${text.slice(0, 17)}59${text.slice(19)}` : text
  return Math.floor(Date.parse(plain.toUpperCase()) / 1000) + (isLeap ? 1 : 0)
}
