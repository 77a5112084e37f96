/** The names that files use in place of ids. */
import type { Live } from './account-state.js'
import type { ManagedKind } from './managed-kinds.js'

const nameCharsMax = 60

/** Lower case, digits and hyphens, as in `the-office`. */
const slug = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.*:]+/g, '-')
    .slice(0, nameCharsMax)
    .replaceAll(/^-+|-+$/g, '')

/** What a resource is called by itself; empty if nothing names it. */
export function ownName({ hostports, domain, type, name, description }: Live['body']): string {
  // In a file it may be anything.
  const [hostport] = Array.isArray(hostports) ? (hostports as readonly unknown[]) : []
  return slug(String(hostport ?? domain ?? name ?? type ?? description ?? ''))
}

/** A name for each resource of a kind, all different. */
export function localNames(
  { resource }: Pick<ManagedKind, 'resource'>,
  all: readonly Pick<Live, 'body'>[],
): string[] {
  const taken = new Set<string>()
  return all.map(({ body }) => {
    const own = ownName(body) || slug(resource.title)
    let name = own
    for (let n = 2; taken.has(name); n += 1) name = `${own}-${n}`
    taken.add(name)
    return name
  })
}
