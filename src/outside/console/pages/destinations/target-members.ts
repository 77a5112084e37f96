/** Members of a target as a form knows them, and values to begin with. */
import type { TargetTile } from '../../../../words/shape/delivery/target-words.js'

export type Value = Readonly<Record<string, unknown>>

export interface Member {
  readonly name: string
  /** As people call it. */
  readonly label: string
  readonly form: 'text' | 'lines' | 'number' | 'switch' | 'choice' | 'map' | 'list' | 'one of' | 'object'
  readonly isRequired: boolean
  /** Stored encrypted and never shown; of a map, its values. */
  readonly isSecret: boolean
  readonly about: string
  readonly example: string
  readonly choices: readonly string[]
  /** Words for these. */
  readonly choiceWords: Readonly<Record<string, string>>
  /** The text of a choice if nothing is chosen. */
  readonly unset: string
  /** Most targets leave it out. */
  readonly isRare: boolean
  /** The members of an object. */
  readonly members: readonly Member[]
}

/** A kind of target. */
export interface TargetKind extends Member {
  /** In the gallery. */
  readonly tiles: readonly TargetTile[]
}

/** The least that a target of the kind needs, to be filled in. */
export function emptyTarget({ members }: Member): Record<string, unknown> {
  return Object.fromEntries(
    members.filter(({ isRequired }) => isRequired).map((member) => [member.name, emptyOf(member)]),
  )
}

/** A member that is chosen, but not filled in. */
export function emptyOf(member: Member): unknown {
  switch (member.form) {
    case 'object':
      return emptyTarget(member)
    case 'one of':
      return { [member.members[0]!.name]: emptyTarget(member.members[0]!) }
    case 'list':
      return []
    case 'map':
      return {}
    case 'choice':
      return member.choices[0]
    case 'switch':
      return false
    default:
      return ''
  }
}

/** A target to begin with in the JSON form: examples in place of values. */
export function exampleTarget(kind: Member): Record<string, unknown> {
  const exampleOf = (member: Member): unknown => {
    if (member.form === 'object') return exampleTarget(member)
    if (member.form === 'one of') return { [member.members[0]!.name]: exampleTarget(member.members[0]!) }
    return member.example === '' ? emptyOf(member) : member.example
  }
  return Object.fromEntries(
    kind.members.filter(({ isRequired }) => isRequired).map((member) => [member.name, exampleOf(member)]),
  )
}
