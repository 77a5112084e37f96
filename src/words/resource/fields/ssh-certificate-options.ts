/**
 * Critical options and extensions of user certificates:
 * https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.certkeys
 *
 * A server refuses a certificate with a critical option that it doesn't know, and ignores unknown extensions.
 */

import { parseCidr } from '../../../ground/core/address/cidr.js'
import { shown } from '../../../ground/core/errors.js'
import { sshOptionsMax } from '../../../ground/core/limits.js'
import { boundedBytes, mapOf, ruled } from '../../../ground/core/schema.js'
import { defaulted } from './fields.js'

const sshOptionNameCharsMax = 255
const sshOptionBytesMax = 4096

/** Returns what is wrong with an option's value, if anything. */
type CheckValue = (value: string) => string | undefined

const checkFlag: CheckValue = (value) => (value === '' ? undefined : 'takes no value: only "" is allowed')

const checkCommand: CheckValue = (value) => (value === '' ? 'needs a command' : undefined)

/** Read by addr_match_cidr_list() of OpenSSH: no spaces, and no bits set after a prefix. */
const checkAddressList: CheckValue = (value) => {
  for (const range of value.split(',')) {
    const parsed = parseCidr(range, { hostBits: 'refuse' })
    if (!parsed.ok)
      return `needs addresses and ranges, separated by commas: ${parsed.problem.msg.slice(0, -1)}`
  }
  return undefined
}

const criticalOptions: ReadonlyMap<string, CheckValue> = new Map([
  ['force-command', checkCommand],
  ['source-address', checkAddressList],
  ['verify-required', checkFlag],
])

const flags = [
  'no-touch-required',
  'permit-X11-forwarding',
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-pty',
  'permit-user-rc',
]

const extensions: ReadonlyMap<string, CheckValue> = new Map(flags.map((name) => [name, checkFlag]))

const nameForm = /^[!-~]+$/
/** Options that OpenSSH does not define have a domain in their names. */
const isVendorName = (name: string): boolean => /^[^@]+@[^@]+$/.test(name)

function brokenName(name: string): string | undefined {
  return nameForm.test(name) && name.length <= sshOptionNameCharsMax
    ? undefined
    : `the name ${shown(name)} must have 1 to ${sshOptionNameCharsMax} printable characters of ASCII, without spaces`
}

function brokenCriticalOption(name: string): string | undefined {
  return criticalOptions.has(name) || isVendorName(name)
    ? undefined
    : `servers refuse a certificate with the option ${shown(name)}: ${[...criticalOptions.keys()].join(', ')} and names such as "name@domain" are allowed`
}

function brokenValue(
  name: string,
  value: string,
  known: ReadonlyMap<string, CheckValue>,
): string | undefined {
  if (value.includes('\0')) return `the value of ${shown(name)} holds a zero byte`
  const broken = known.get(name)?.(value)
  return broken === undefined ? undefined : `${shown(name)} ${broken}`
}

const optionMap = (description: string, broken: (name: string, value: string) => string | undefined) =>
  ruled(
    mapOf(boundedBytes(sshOptionBytesMax), {
      maxProperties: sshOptionsMax,
      description,
    }),
    (given) => {
      for (const [name, value] of Object.entries(given)) {
        const found = broken(name, value)
        if (found !== undefined) return found
      }
      return undefined
    },
  )

export const sshOptionFields = {
  critical_options: defaulted(
    optionMap(
      'Restrictions that a server must enforce, such as "force-command" and "source-address".',
      (name, value) =>
        brokenName(name) ?? brokenCriticalOption(name) ?? brokenValue(name, value, criticalOptions),
    ),
    {},
    { atCreation: true, column: 'json' },
  ),
  extensions: defaulted(
    optionMap(
      'What the certificate permits; "permit-pty" and "permit-user-rc" if the map is empty or not given. To permit nothing, send an extension that servers ignore, such as "none@example.com".',
      (name, value) => brokenName(name) ?? brokenValue(name, value, extensions),
    ),
    { 'permit-pty': '', 'permit-user-rc': '' },
    { atCreation: true, column: 'json' },
  ),
}
