/** A draft in the session's storage, so that it survives a reload; with what it began from, so that a conflict is seen. */
import { bodyOf, type Draft, type DraftBody, draftOf, type Side, sides } from './draft.js'

export interface StoredDraft {
  /** The module as it was when the draft began. */
  readonly base: DraftBody | null
  readonly draft: Draft
}

const keyOf = (id: string): string => `weir-draft ${id}`

export function storedDraft(id: string): StoredDraft | undefined {
  try {
    const stored: StoredDraft | null = JSON.parse(sessionStorage.getItem(keyOf(id)) ?? 'null')
    return stored ?? undefined
  } catch {
    return undefined
  }
}

export function storeDraft(id: string, draft: StoredDraft | undefined): void {
  if (draft === undefined) sessionStorage.removeItem(keyOf(id))
  else sessionStorage.setItem(keyOf(id), JSON.stringify(draft))
}

/** Both as a form would send them: spelling, such as an omitted name, makes no difference. */
const normal = (module: DraftBody | null): DraftBody => bodyOf(draftOf(module)).body

export const isSame = (one: DraftBody | null, other: DraftBody | null): boolean =>
  JSON.stringify(normal(one)) === JSON.stringify(normal(other))

/** How one version differs from another, a line for each policy. */
export function differences(before: DraftBody | null, after: DraftBody | null): readonly string[] {
  const lines: string[] = []
  const [was, is] = [normal(before), normal(after)]
  if (was.enabled !== is.enabled)
    lines.push(is.enabled ? 'the module is switched on' : 'the module is switched off')
  for (const side of sides) {
    const old = namesOf(was, side)
    const next = namesOf(is, side)
    for (const [name, text] of next)
      if (!old.has(name)) lines.push(`${side}: ${name} is added`)
      else if (old.get(name) !== text) lines.push(`${side}: ${name} is changed`)
    for (const name of old.keys()) if (!next.has(name)) lines.push(`${side}: ${name} is removed`)
    const common = [...next.keys()].filter((name) => old.has(name))
    const order = [...old.keys()].filter((name) => next.has(name))
    if (common.join('\n') !== order.join('\n')) lines.push(`${side}: the order is changed`)
  }
  return lines
}

/** Policies by their names; those without one by their place. */
function namesOf(module: DraftBody, side: Side): Map<string, string> {
  const named = new Map<string, string>()
  for (const [index, policy] of module[side].entries()) {
    const name = policy.name === undefined ? `policy ${index + 1}` : `“${policy.name}”`
    named.set(named.has(name) ? `${name} (${index + 1})` : name, JSON.stringify(policy))
  }
  return named
}
