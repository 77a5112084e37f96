/** Results of tests as JUnit XML, which CI systems show. */

interface TestResult {
  readonly name: string
  /** Why it failed; undefined if it passed. */
  readonly failure: string | undefined
}

/** Characters that XML 1.0 can't contain, even escaped, and halves of characters. */
const unwritable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be written.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
}

const escaped = (text: string): string =>
  text.replaceAll(unwritable, '\ufffd').replaceAll(/[&<>"\n\r\t]/g, (character) => entities[character]!)

export function junitOf(suite: string, tests: readonly TestResult[]): string {
  const failures = tests.filter(({ failure }) => failure !== undefined).length
  const counts = `tests="${tests.length}" failures="${failures}" errors="0" skipped="0"`
  const cases = tests.map(({ name, failure }) => {
    const head = `    <testcase classname="${escaped(suite)}" name="${escaped(name)}"`
    if (failure === undefined) return `${head}/>`
    const [first = ''] = failure.split('\n')
    return `${head}>\n      <failure message="${escaped(first)}">${escaped(failure)}</failure>\n    </testcase>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(suite)}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}
