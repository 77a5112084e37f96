/** The character that no text of any kind of resource may contain, and the one that may stand before a body. */
import fc from 'fast-check'
import t from 'tap'
import { Slices } from '../../../src/ground/core/slices.js'
import { parseJsonBody } from '../../../src/management/exchange/body/json-body.js'
import { parseLargeBody } from '../../../src/management/exchange/body/large-body.js'
import { grantRight } from '../../../src/management/write/accounts.js'
import { allOperations } from '../../../src/words/resource/kind/define.js'
import { openTestStore } from '../../harness/api.js'
import { refused } from '../../harness/caller.js'
import { Estate, servedResources } from './estate.js'

type Json = unknown

const creatable = servedResources.filter(({ operations = allOperations }) => operations.includes('create'))

/** The value with `added` in each of its texts, one after the other, and the name of the member that has the text. */
function* withAdded(value: Json, added: string, name = ''): Generator<{ value: Json; name: string }> {
  if (typeof value === 'string') yield { value: value + added, name }
  else if (Array.isArray(value)) {
    for (const [index, entry] of value.entries())
      for (const found of withAdded(entry, added, `${name}[${index}]`))
        yield { ...found, value: value.with(index, found.value) }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value))
      for (const found of withAdded(member, added, key))
        yield { ...found, value: { ...value, [key]: found.value } }
  }
}

t.test('NUL in a text of any kind of resource', async (t) => {
  const store = await openTestStore(t)
  const api = await store.api()
  const client = await api.account()
  await grantRight(store.parts.store, client.accountId, 'abuse_reports')
  const estate = new Estate(client, 'nul')
  for (const resource of creatable) {
    const path = await estate.collection(resource)
    const body = { description: 'of a test', ...(await estate.body(resource.kind)) }
    const bodies = [...withAdded(body, '\0')]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...bodies), async ({ value, name }) => {
        const msg = await refused(400, client.at(path).create(value as object))
        t.match(msg, `"${name}" contains NUL (U+0000), at character`, resource.kind)
      }),
      { numRuns: 5 },
    )
  }
})

t.test('a byte order mark before any body is ignored; inside of a text it stays', async (t) => {
  const property = fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (sent) => {
    const text = JSON.stringify({ ...sent, kept: '\ufeff' })
    const body = Buffer.from(`\ufeff${text}`)
    const outcome = async (parse: () => Json) => {
      try {
        return await parse()
      } catch (error) {
        // Of several numbers, a body that is read in pieces may name another one.
        return (error as Error).message.replace(/has the number -?\d+/, 'has the number n')
      }
    }
    const expected = await outcome(() => parseJsonBody(Buffer.from(text)))
    t.strictSame(await outcome(() => parseJsonBody(body)), expected)
    t.strictSame(await outcome(() => parseLargeBody(body, new Slices(), 1)), expected)
  })
  await fc.assert(property, { numRuns: 100 })
})
