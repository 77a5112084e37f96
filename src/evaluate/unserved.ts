/** Names that no edge of an account serves, as questions over HTTP ask about them. */
import { badRequest, shown } from '../core/errors.js'
import type { PolicySet } from './policy-set.js'

/** What a question may say about such a name. */
export const unservedWords = ['allow', 'deny'] as const

export type Unserved = (typeof unservedWords)[number]

/** As a question says it. Throws if it is neither of the words. */
export function unservedIn(text: string | undefined): Unserved | undefined {
  if (text === undefined || text === 'allow' || text === 'deny') return text
  throw badRequest(`The query parameter "unserved" is ${shown(text)}: allow or deny is allowed.`)
}

/** What a question means that does not say it. */
export const unservedFor = ({ contents }: PolicySet, accountId: string): Unserved =>
  contents.accounts.get(accountId)?.allowsUnserved ? 'allow' : 'deny'
