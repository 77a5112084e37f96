import fc from 'fast-check'
import t from 'tap'
import { parseHost } from '../../../../src/ground/core/address/host-name.js'

t.test('a name that only looks like another one is refused, and the error names the character', async (t) => {
  const cases = [
    ['\u212a', '212A'],
    ['\u212abücher', '212A'],
    ['\uff41', 'FF41'],
    ['１', 'FF11'],
    ['ﬁ', 'FB01'],
    ['a\u00adb', '00AD'],
    ['a\u200bb', '200B'],
    ['\u2100', '2100'],
    ['例え\u3002テスト', '3002'],
    ['a\uff0eb', 'FF0E'],
    ['a\uff61b', 'FF61'],
  ]
  for (const [name, codePoint = ''] of cases) {
    const parsed = parseHost(`${name}.example`)
    t.match(!parsed.ok && parsed.problem.msg, `U+${codePoint}`, codePoint)
  }
})

t.test('whatever the text, a host is ASCII, and stays what it is when it is read again', async () => {
  const letters = fc.constantFrom(...'aZ0-_.:[]%/@\\üßİſ\u212a。．｡\u0308\u200d\u00adяא例😀')
  const anyText = fc.oneof(fc.string({ unit: letters }), fc.string({ unit: 'binary' }))
  const property = fc.property(anyText, (text) => {
    const parsed = parseHost(text)
    if (!parsed.ok) return true
    const again = parseHost(parsed.value)
    return /^[a-z0-9_.:[\]-]+$/.test(parsed.value) && again.ok && again.value === parsed.value
  })
  fc.assert(property, { numRuns: 2_000 })
})
