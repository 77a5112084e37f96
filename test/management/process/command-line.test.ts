/** The command line as a whole: what every command has, and small texts that commands read or print. */
import type { Command } from 'commander'
import t from 'tap'
import { Notes } from '../../../src/outside/cli/tap.js'
import { rulesOfList } from '../../../src/outside/cli/try/try.js'
import { commandTree } from '../../harness/command-tree.js'

/** Commands that print no data, and what they do instead. */
const withoutData: Readonly<Record<string, readonly string[]>> = {
  'they run until they are stopped, and log': [
    'serve',
    'api',
    'pipeline',
    'decide',
    'deliver',
    'quarantine',
    'trial',
  ],
  'a show for people': ['demo'],
  'it says that it is done': ['login', 'logout'],
  'another program reads it': ['nats-config', 'completion'],
}

t.test('every command that prints data can print it as JSON', async (t) => {
  const leaves = (command: Command, path: readonly string[]): [string, Command][] =>
    command.commands.length === 0
      ? [[path.join(' '), command]]
      : command.commands.flatMap((each) => leaves(each, [...path, each.name()]))
  const all = leaves(await commandTree(), [])
  t.ok(all.length > 25, `${all.length} commands`)
  const excepted = Object.values(withoutData).flat()
  for (const [name, command] of all)
    t.not(
      command.options.some(({ long }) => long === '--json'),
      excepted.includes(name),
      name,
    )
  for (const name of excepted)
    t.ok(
      all.some(([each]) => each === name),
      `${name} is a command`,
    )
})

t.test('a plain list of ranges becomes rules', (t) => {
  const deny = (...cidrs: string[]) => cidrs.map((cidr) => ({ cidr, action: 'deny' }))
  const cases: [name: string, text: string, rules: readonly object[] | undefined][] = [
    ['a range per line', '192.0.2.0/24\n198.51.100.7\n', deny('192.0.2.0/24', '198.51.100.7')],
    ['comments and blank lines', '# mine\n\n 2001:db8::/32 # a network\r\n', deny('2001:db8::/32')],
    ['a bad line is left to the API, which names it', '10.0.0.0/8\nten\n', deny('10.0.0.0/8', 'ten')],
    ['nothing', '# nobody\n', []],
    ['a list in JSON', '[{"cidr": "10.0.0.0/8", "action": "allow"}]', undefined],
    ['a body in JSON', '\n{"rules": []}', undefined],
  ]
  for (const [name, text, rules] of cases) t.strictSame(rulesOfList(text, 'deny'), rules, name)
  t.end()
})

const clearLine = '\r\u001b[K'

t.test('weir tap says what it waits for, and on a terminal that it lives', (t) => {
  const notesTo = (isTerminal: boolean) => {
    let text = ''
    const notes = new Notes('decisions', { write: (more: string) => (text += more) }, isTerminal)
    return { notes, text: () => text }
  }
  const pipe = notesTo(false)
  pipe.notes.begin(undefined, undefined)
  pipe.notes.rate({ seen: 0, sent: 0, lost: 0 })
  pipe.notes.makeRoom()
  t.equal(pipe.text(), 'Waiting for decisions of the account, from now on; Ctrl-C ends it.\n')
  pipe.notes.rate({ seen: 5, sent: 2, lost: 3 })
  t.match(pipe.text(), /\n… 5 decisions in a second: 2 shown, 3 lost\.\n$/)

  const terminal = notesTo(true)
  terminal.notes.begin('edgtcp_1', "decision != 'allow'")
  t.equal(
    terminal.text(),
    "Waiting for decisions of edgtcp_1 where decision != 'allow', from now on; Ctrl-C ends it.\n",
  )
  terminal.notes.rate({ seen: 2, sent: 2, lost: 0 })
  terminal.notes.rate({ seen: 0, sent: 0, lost: 0 })
  t.ok(terminal.text().endsWith(`${clearLine}2 decisions so far`), 'the count stays in its place')
  terminal.notes.makeRoom()
  t.ok(terminal.text().endsWith(`so far${clearLine}`), 'a line takes its place')
  t.end()
})
