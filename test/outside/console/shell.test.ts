/** Texts of others as arguments of commands that people copy into a terminal. */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { shellArgument } from '../../../src/outside/console/data/texts/shell.js'
import { hostileTexts } from './hostile-texts.js'

t.test('a shell takes each for one argument', (t) => {
  const texts = [
    ...hostileTexts,
    "'; touch hostile; '",
    '$(touch hostile)',
    '`touch hostile`',
    '!!',
    '--config=x',
    '',
    'a  b\\',
  ]
  for (const text of texts) {
    const printed = execFileSync('/bin/sh', ['-c', `printf '<%s>' ${shellArgument(text)}`], {
      encoding: 'utf8',
    })
    const printable = text.replaceAll(/[\p{Cc}\u202a-\u202e]/gu, '')
    t.equal(printed, `<${printable}>`)
  }
  t.end()
})

t.test('a terminal gets nothing but text', (t) => {
  const texts = [
    'true\u0003\ntouch hostile\n',
    'x\u001b[201~\rtouch hostile\r',
    'a\u0004b\u007f\u009b',
    '\u202egnp',
  ]
  for (const text of texts) t.notMatch(shellArgument(text), /[\p{Cc}\u202a-\u202e]/u, JSON.stringify(text))
  t.equal(shellArgument('decision !=\n"deny"'), `'decision != "deny"'`, 'a line break is a space')
  t.equal(shellArgument('edghts_1'), 'edghts_1')
  t.end()
})
