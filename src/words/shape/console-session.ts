/** The schema of a session of the web console. */
import { objectOf, oneOf, orNull, type Static, Type } from '../../ground/core/schema.js'
import { keyRights } from '../resource/api-key.js'
import { idSchema } from '../resource/fields/id-schema.js'
import { accountRights } from '../resource/kind/define.js'
import { exampleId } from '../resource/kind/examples.js'

export const consoleSessionExample = {
  account_id: exampleId('ac_'),
  account_name: 'example',
  account_rights: ['doctor'],
  api_key_id: exampleId('ak_'),
  api_key_description: 'the console of the night shift',
  rights: ['read'],
  expires_at: '2026-11-20T18:00:00Z',
  decide_port: 8081,
}

export const consoleSessionSchema = objectOf(
  {
    account_id: idSchema('account', 'ac_'),
    account_name: Type.String(),
    account_rights: Type.Array(oneOf(accountRights), {
      description: 'What an operator has allowed the account.',
    }),
    api_key_id: idSchema('api_key', 'ak_'),
    api_key_description: Type.String({ description: 'The description of the API key that signed in.' }),
    rights: orNull(Type.Array(oneOf(keyRights)), {
      description: 'What the key, and so the session, may be used for; null: everything.',
    }),
    expires_at: Type.String({
      format: 'date-time',
      description: 'The session ends then, or earlier: when it is signed out, or the key is deleted.',
    }),
    decide_port: orNull(Type.Integer(), {
      description:
        'The port on which this process expects proxies to ask (`WEIR_DECIDE_PORT`); null: none is set, or not here.',
    }),
  },
  { title: 'ConsoleSession', description: 'Who is signed in to the web console.' },
)

export type ConsoleSession = Static<typeof consoleSessionSchema>
