/**
 * Dead letters for an operator: those of all accounts, and those that belong to none. The command line uses the client of
 * the API, whose requests come here as commands instead of over HTTP.
 */

import { isDestinationIn } from '../api/destination-rows.js'
import { badRequest } from '../core/errors.js'
import { ownersIn } from '../insight/dead-letter-owner.js'
import {
  changeLetters,
  groupsOfLetters,
  pageOfLetters,
  resendLetter,
} from '../operate/dead-letter-answers.js'
import { letterCalled, shownLetter, wholeLetter } from '../operate/dead-letter-queries.js'
import { DeadLetterResender } from '../operate/dead-letter-resender.js'
import { DeadLetters, wholeSight } from '../operate/dead-letters.js'
import type { Letter } from '../operate/letters-of-message.js'
import type { AdminCommand } from '../process/admin-server.js'
import type { Links } from '../resource/define.js'
import type { StoreParts } from './store-parts.js'

type Parts = Pick<StoreParts, 'store' | 'nats' | 'presenter'>

export async function answerOperator(
  { store, nats, presenter }: Parts,
  { method = '', path = '', query = '{}', body = '{}' }: AdminCommand,
): Promise<string> {
  const letters = new DeadLetters({ nats, ownerOf: ownersIn(store.view) })
  const resender = new DeadLetterResender({ nats, isDestination: isDestinationIn(store.view) })
  const { links } = presenter
  const [, , id = '', verb] = path.split('/')
  const given = JSON.parse(query) as Readonly<Record<string, string>>
  const sent = JSON.parse(body) as Readonly<Record<string, unknown>>
  const answers: Readonly<Record<string, () => Promise<unknown>>> = {
    'GET list': () => pageOfLetters(letters, wholeSight, given, links, shownWithOwner),
    'GET groups': () => groupsOfLetters(letters, wholeSight, given),
    'POST resend': () => changeLetters(letters, resender, wholeSight, 'resend', sent),
    'POST drop': () => changeLetters(letters, resender, wholeSight, 'drop', sent),
    'GET one': async () => {
      const letter = await letterCalled(letters, wholeSight, id)
      return { ...wholeLetter(letter, links), ...ownerShown(letter) }
    },
    'POST one': async () =>
      resendLetter(resender, await letterCalled(letters, wholeSight, id), sent, undefined),
    'DELETE one': async () => resender.drop([await letterCalled(letters, wholeSight, id)]),
  }
  const isMany = ['groups', 'resend', 'drop'].includes(id) && verb === undefined
  const answer = answers[`${method} ${id === '' ? 'list' : isMany ? id : 'one'}`]
  if (answer === undefined) throw badRequest(`There is no command for dead letters "${method} ${path}".`)
  return `${JSON.stringify((await answer()) ?? null)}\n`
}

const ownerShown = ({ owner }: Letter) => ({ account_id: owner ?? null })

const shownWithOwner = (letter: Letter, links: Pick<Links, 'uri'>) => ({
  ...shownLetter(letter, links),
  ...ownerShown(letter),
})
