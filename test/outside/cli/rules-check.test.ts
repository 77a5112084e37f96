/** `weir rules check`: what a person reads about an address. An IP list is called by its name, next to its id. */
import t from 'tap'
import { showCheck } from '../../../src/outside/cli/rules-check.js'
import { type AddressCheck, addressCheckSchema } from '../../../src/words/shape/address-check.js'

const { examples } = addressCheckSchema as unknown as { readonly examples: readonly [AddressCheck] }
const [example] = examples

async function linesOf(check: AddressCheck): Promise<readonly string[]> {
  const lines: string[] = []
  await showCheck({ checkAddress: async () => check }, check.ip, {}, (line) => void lines.push(line))
  return lines.join('\n').split('\n')
}

const ofList = (list_name: string | null) => ({ list_id: 'ipl_1', list_name })

t.test('the list of a rule, and the list of a bouncer that bans the address', async (t) => {
  const check: AddressCheck = {
    ...example,
    rules: example.rules.map((rule) => ({ ...rule, ...ofList('tor-exits') })),
    uses: example.uses.map((use) => ({ ...use, kind: 'bouncer', rule_id: null, ...ofList('drop') })),
  }
  const lines = await linesOf(check)
  t.match(lines[1], '203.0.113.66/32 of the list "tor-exits" (ipl_1)')
  t.match(lines.at(-1), /block {2}bouncer .*: the list "drop" \(ipl_1\)$/)
})

t.test('a list whose name is not known is called by its id', async (t) => {
  const lines = await linesOf({
    ...example,
    rules: example.rules.map((rule) => ({ ...rule, ...ofList(null) })),
    uses: [],
  })
  t.match(lines[1], '203.0.113.66/32 of ipl_1 ')
  t.equal(lines.at(-1), 'Nothing names an IP policy, and no bouncer an IP list.')
})

t.test('a rule with a range, and no list', async (t) => {
  const lines = await linesOf(example)
  t.match(lines[1], /deny {3}203\.0\.113\.66\/32 {2}ipr_\w+ "scanner" of ipp_\w+ "the office"/)
  t.notMatch(lines.join(), 'the list')
})

t.test('an address that no rule contains', async (t) => {
  const lines = await linesOf({ ...example, rules: [], uses: [] })
  t.equal(lines[0], 'No rule of an IP policy contains 203.0.113.66.')
})
