/** Content negotiation: https://www.rfc-editor.org/rfc/rfc9110#section-12.5.1 */

interface Range {
  readonly type: string
  readonly quality: number
}

/**
 * The offered media type that the header `Accept` prefers. Among equals, the one that is named more exactly wins, then the
 * one that is offered first. If none is accepted, it is the first: an answer in another form is better than none.
 */
export function acceptedType<const Offered extends string>(
  accept: string | undefined,
  offered: readonly [Offered, ...Offered[]],
): Offered {
  const ranges = (accept ?? '').split(',').map(rangeOf)
  let best: { type: Offered; quality: number; exactness: number } | undefined
  for (const type of offered) {
    const names = [type, `${type.split('/')[0]}/*`, '*/*']
    const range = names.map((name) => ranges.find((each) => each.type === name)).find(Boolean)
    if (range === undefined) continue
    const { quality } = range
    const exactness = -names.indexOf(range.type)
    const isBetter =
      best === undefined || quality > best.quality || (quality === best.quality && exactness > best.exactness)
    if (quality > 0 && isBetter) best = { type, quality, exactness }
  }
  return best?.type ?? offered[0]
}

function rangeOf(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.map((each) => /^q\s*=\s*([\d.]+)$/.exec(each)?.[1]).find(Boolean)
  return { type, quality: quality === undefined ? 1 : Number(quality) }
}
