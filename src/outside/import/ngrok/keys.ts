/** Credentials of agents, and SSH: authorities, certificates, keys. */
import { parseTimestamp } from '../../../ground/core/text/timestamp.js'
import { keyOptions } from '../../as-code/account-state.js'
import type { ImportRun } from '../draft/import-run.js'
import type { Item } from '../draft/item.js'
import { describedIn } from './ip-policies.js'

export function readCredential(run: ImportRun, item: Item): void {
  for (const member of ['token', 'owner_id']) item.get(member)
  const body = { ...describedIn(item), acl: item.get('acl') }
  if (run.account.add('tunnelCredential', item, item.id, body))
    item.change('Its token is another one, which weir apply --tokens FILE keeps: give it to the agent.')
}

export function readSshCredential(run: ImportRun, item: Item): void {
  item.get('owner_id')
  const body = { ...describedIn(item), public_key: item.get('public_key'), acl: item.get('acl') }
  run.account.add('sshCredential', item, item.id, body)
}

export function readSshAuthority(run: ImportRun, item: Item): void {
  item.get('key_type')
  const key = item.text('public_key')
  if (key === undefined) {
    item.refuse('It has no public key.')
    return
  }
  if (run.account.add('sshCertificateAuthority', item, item.id, { ...describedIn(item), ...keyOptions(key) }))
    item.change(
      'Weir makes another key of the same type: those who trust the old one must be given the new one.',
    )
}

export const readSshCertificate =
  (name: 'sshHostCertificate' | 'sshUserCertificate') =>
  (run: ImportRun, item: Item): void => {
    const authority = item.text('ssh_certificate_authority_id')
    if (authority === undefined || !run.account.has(authority)) {
      item.refuse(`The authority ${authority ?? '(none)'} is not in the input.`)
      return
    }
    const end = item.text('valid_until')
    const endSeconds = end === undefined ? undefined : parseTimestamp(end)
    if (endSeconds !== undefined && endSeconds * 1000 <= run.options.nowMs) {
      item.refuse(`It ended at ${end}.`)
      return
    }
    for (const member of ['key_type', 'certificate']) item.get(member)
    const isForUsers = name === 'sshUserCertificate'
    const body = {
      ...describedIn(item),
      ssh_certificate_authority_id: authority,
      public_key: item.get('public_key'),
      principals: item.get('principals'),
      valid_after: item.get('valid_after'),
      valid_until: end,
      ...(isForUsers && {
        critical_options: item.get('critical_options'),
        extensions: item.get('extensions'),
      }),
    }
    if (run.account.add(name, item, item.id, body))
      item.change('It is signed again, by the new key of its authority: install the new one.')
  }
