/** Which of the hostports that are served are most like one that is not. */

/** `example.com` and `443` of `example.com:443`. */
function parted(hostport: string): readonly [host: string, port: string] {
  const colon = hostport.lastIndexOf(':')
  return [hostport.slice(0, colon), hostport.slice(colon + 1)]
}

/** Labels that two hosts end with: `a.example.com` and `b.example.com` share two. An asterisk is like any label. */
function sharedLabels(one: string, other: string): number {
  const [labels, others] = [one.split('.').toReversed(), other.split('.').toReversed()]
  let count = 0
  while (count < labels.length && (labels[count] === others[count] || others[count] === '*')) count += 1
  return count
}

/** The same host on another port comes first, then those that end alike, then others in their order. */
export function nearestHostports(hostport: string, served: Iterable<string>, max: number): string[] {
  const [host, port] = parted(hostport)
  let nearest: { readonly served: string; readonly likeness: number }[] = []
  for (const each of served) {
    const [otherHost, otherPort] = parted(each)
    const isSame = otherHost === host
    const likeness = (isSame ? 1_000 : sharedLabels(host, otherHost) * 2) + (otherPort === port ? 1 : 0)
    const last = nearest[max - 1]
    if (last !== undefined && last.likeness >= likeness) continue
    nearest = [...nearest, { served: each, likeness }]
      .sort((one, other) => other.likeness - one.likeness)
      .slice(0, max)
  }
  return nearest.map(({ served }) => served)
}
