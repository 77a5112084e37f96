/** The forms of an answer that a client accepts, by its headers `Accept` and `Accept-Encoding`. */

/** An element of such a header: a media type or a coding, and how much the client prefers it. */
interface Accepted {
  readonly name: string
  readonly quality: number
}

const acceptedIn = (header: string | undefined): Accepted[] => (header ?? '').split(',').map(elementOf)

function elementOf(text: string): Accepted {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.map((each) => /^q\s*=\s*([\d.]+)$/.exec(each)?.[1]).find(Boolean)
  return { name, quality: quality === undefined ? 1 : Number(quality) }
}

/**
 * The offered media type that the header `Accept` prefers. Among equals, the one that is named more exactly wins, then the
 * one that is offered first. If none is accepted, it is the first: an answer in another form is better than none.
 * https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1
 */
export function acceptedType<const Offered extends string>(
  header: string | undefined,
  offered: readonly [Offered, ...Offered[]],
): Offered {
  const accepted = acceptedIn(header)
  let best: { type: Offered; quality: number; exactness: number } | undefined
  for (const type of offered) {
    const names = [type, `${type.split('/')[0]}/*`, '*/*']
    const range = names.map((name) => accepted.find((each) => each.name === name)).find(Boolean)
    if (range === undefined) continue
    const { quality } = range
    const exactness = -names.indexOf(range.name)
    const isBetter =
      best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness)
    if (quality > 0 && isBetter) best = { type, quality, exactness }
  }
  return best?.type ?? offered[0]
}

/**
 * The first of the offered codings that the header `Accept-Encoding` names. Undefined if it names none of them: then the
 * answer is sent as it is, which every client accepts.
 */
export function acceptedCoding<const Offered extends string>(
  header: string | string[] | undefined,
  offered: readonly Offered[],
): Offered | undefined {
  const accepted = acceptedIn(header === undefined ? undefined : String(header))
  return offered.find((coding) => accepted.some(({ name, quality }) => name === coding && quality > 0))
}
