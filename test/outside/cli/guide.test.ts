/** The help of commands: groups, width, and examples and documents that hold. */
import type { Command } from 'commander'
import t from 'tap'
import { guide, keyed, operated } from '../../../src/outside/cli/guide/guide.js'
import { commandsBelow, pathOf, pathOfPage } from '../../../src/outside/cli/guide/help.js'
import { anchorsIn } from '../../docs/pages.js'
import { commandTree } from '../../harness/command-tree.js'

const columnsMax = 80

/** What a person sees, with what stands behind the options. */
function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (more) => (text += more) })
  command.outputHelp()
  return text
}

/** The words of an example, as a shell would give them. */
const wordsOf = (example: string): string[] =>
  [...example.replace(/ [|>].*/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  )

t.test('every command is in the guide, and the guide has no other', async (t) => {
  const names = commandsBelow(await commandTree()).map(pathOf)
  t.ok(names.length > 40, `${names.length} commands`)
  t.strictSame(Object.keys(guide).toSorted(), names.toSorted())
  for (const name of [...keyed, ...operated]) t.ok(names.includes(name), name)
})

t.test('help fits a terminal of 80 columns, and ends with an example and documents', async (t) => {
  const program = await commandTree()
  for (const command of [program, ...commandsBelow(program)]) {
    const name = pathOf(command)
    const help = helpOf(command)
    const wide = help.split('\n').filter((line) => [...line].length > columnsMax)
    t.strictSame(wide, [], name)
    if (command === program) continue
    t.ok(help.includes(`\nExample:\n  weir ${guide[name]?.example}\n`), name)
    t.match(help, /\nDocuments: (docs\/|README)\S+#\S+\n$/, name)
  }
})

t.test('no terminal makes help wider, whatever it says of its size', async (t) => {
  const program = await commandTree()
  const before = Object.getOwnPropertyDescriptor(process.stdout, 'columns')
  t.teardown(() => Object.defineProperty(process.stdout, 'columns', before ?? { value: undefined }))
  for (const columns of [undefined, 0, 200]) {
    Object.defineProperty(process.stdout, 'columns', { value: columns, configurable: true })
    for (const command of commandsBelow(program)) {
      const wide = helpOf(command)
        .split('\n')
        .filter((line) => [...line].length > columnsMax)
      t.strictSame(wide, [], `${pathOf(command)} at ${columns}`)
    }
  }
})

t.test('commands are listed by who uses them, and each on one line', async (t) => {
  const help = helpOf(await commandTree())
  const groups = [...help.matchAll(/^(\S.*):\n((?: {2}\S.*\n)+)$/gm)].map(([, title, lines = '']) => [
    title,
    lines.match(/^ {2}[a-z-]+/gm)?.map((name) => name.trim()),
  ])
  t.match(groups, [
    ['Options', Array],
    ['Run Weir', ['serve', 'api', 'pipeline', 'decide', 'deliver', 'demo', 'nats-config']],
    ['Look at what happens', Array],
    ['Change what is decided, and who may do what', Array],
    ['Move logs in and events out', Array],
    ['Repair', ['doctor', 'dead', 'replay', 'store', 'backup', 'restore']],
    ['This command line', Array],
  ])
  t.equal(help.match(/WEIR_API_KEY/g)?.length, 1, 'the key is mentioned once')
})

t.test('each example is a call of its command, or of one below it', async (t) => {
  const program = await commandTree()
  const calls: string[] = []
  for (const command of commandsBelow(program)) {
    command.exitOverride()
    // One that only has commands below it prints its help.
    if (command.commands.length === 0 || command.registeredArguments.length > 0)
      command.action(() => void calls.push(pathOf(command)))
  }
  for (const [name, { example }] of Object.entries(guide)) {
    await t.resolves(program.parseAsync(wordsOf(example), { from: 'user' }), example)
    const called = calls.pop() ?? 'nothing'
    t.ok(called === name || called.startsWith(`${name} `), `${example} calls ${called}`)
  }
})

t.test('each page of the documents has the section', (t) => {
  for (const { page } of Object.values(guide)) {
    const [file = '', anchor = ''] = pathOfPage(page).split('#')
    t.ok(anchorsIn(file).includes(anchor), page)
  }
  t.end()
})
