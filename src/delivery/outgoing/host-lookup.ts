/**
 * Addresses of the hosts that accounts name. The system's own lookup takes one of a few threads for as long as the name's
 * server likes, so that some names whose servers do not answer would hold up every other lookup of the process. Names are
 * therefore looked up in `/etc/hosts` and in DNS, which takes no thread; what is found in neither may be a name that only
 * the system knows (a search domain, mDNS): then it is asked, for one name at a time.
 */
import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { familyOf } from '../../ground/core/address/ip.js'
import { Turns } from '../../ground/core/concurrency.js'

/** A name server may be lost now and then; a request has 15 s in all. */
const dnsOptions = { timeout: 2_000, tries: 2 }
const hostsFile = '/etc/hosts'
/** Further names are refused at once, and asked for again by the next request. */
const waitingMax = 16

const oneName = new Turns(1, waitingMax)
const asked = promisify(systemLookup)

/** Rejects with an error of DNS, such as `ENOTFOUND`, if there is none. */
export async function lookUpHost(host: string): Promise<LookupAddress[]> {
  const known = addressesOf(await readFile(hostsFile, 'utf8').catch(() => ''), host)
  if (known.length > 0) return known
  const found = await askDns(host)
  return found.length > 0 ? found : oneName.take(() => asked(host, { all: true }))
}

function addressesOf(hosts: string, host: string): LookupAddress[] {
  const wanted = host.toLowerCase()
  const lines = hosts.split('\n').map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
  return lines.flatMap(([address = '', ...names]) => {
    const family = familyOf(address)
    return family !== undefined && names.some((name) => name.toLowerCase() === wanted)
      ? [{ address, family }]
      : []
  })
}

async function askDns(host: string): Promise<LookupAddress[]> {
  const resolver = new Resolver(dnsOptions)
  const [ipv4, ipv6] = await Promise.all([
    resolver.resolve4(host).catch((): string[] => []),
    resolver.resolve6(host).catch((): string[] => []),
  ])
  return [
    ...ipv4.map((address) => ({ address, family: 4 })),
    ...ipv6.map((address) => ({ address, family: 6 })),
  ]
}
