/** Everything that the documents call by its name exists: commands, scripts, metrics, headers. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { destinationKinds } from '../../src/delivery/deliver/kinds.js'
import { recordFields } from '../../src/delivery/record/record-fields.js'
import { findingKinds } from '../../src/words/shape/finding.js'
import { compiled } from '../harness/processes.js'
import { blocks, pageOf, pages, sectionOf } from './pages.js'

/** Declaration, list, forms, advice, settings, page. */
const filesOfKindMax = 6
/** Declaration, events, scope of expressions, and two for what is said about it. */
const filesOfFieldMax = 5
/** Declaration, its part, the page that shows several, the menu, and the page of the documents. */
const filesOfPageMax = 5

const source = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join('src', name), 'utf8'))
  .join('\n')

/** A label that operators give their Prometheus, for the links of alerts. */
const labels = ['weir_docs']

t.test('metrics and buckets', (t) => {
  for (const { file, text } of pages) {
    for (const [name] of text.matchAll(/\bweir_[a-z_]*[a-z](?![\w*])/g)) {
      if (labels.includes(name)) continue
      t.ok(new RegExp(`['"\`{ ]${name}\\b`).test(source), `${file}: ${name}`)
    }
  }
  t.end()
})

t.test('headers of messages and requests', (t) => {
  for (const { file, text } of pages) {
    for (const [name] of text.matchAll(/\bWeir-[A-Z][A-Za-z-]*\b/g)) {
      t.ok(source.includes(`'${name}'`) || source.includes(`'${name.toLowerCase()}'`), `${file}: ${name}`)
    }
  }
  t.end()
})

t.test('the event kind of the recipe is the one that a test runs Weir with', (t) => {
  const recipes = readFileSync('CONTRIBUTING.md', 'utf8')
  const [, shown = ''] = /^\+(export const sshSessionEnded[\s\S]*?^\+}\))$/m.exec(recipes) ?? []
  const file = readFileSync('test/words/event/ssh-session-ended.ts', 'utf8')
  t.ok(shown !== '' && file.includes(shown.replaceAll(/^\+/gm, '')), shown)
  t.end()
})

t.test('scripts of npm', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object }
  for (const { file, text } of pages) {
    for (const [, script = ''] of text.matchAll(/\bnpm run (?:--\S+ )*([\w:]+)/g)) {
      t.ok(script in scripts, `${file}: npm run ${script}`)
    }
  }
  t.end()
})

t.test('commands of weir, and their options', (t) => {
  const used = new Map<string, Set<string>>()
  for (const page of pages) {
    for (const block of blocks(page, 'sh')) {
      for (const [, words = '', rest = ''] of block.matchAll(
        /(?:^|\s)weir ((?:[a-z]+(?:-[a-z]+)*(?![\w:-]) ?){1,2})([^\n]*)/g,
      )) {
        const options = used.get(words.trim()) ?? new Set()
        for (const [option] of rest.split('#')[0]!.matchAll(/--[a-z]+/g)) options.add(option)
        used.set(words.trim(), options)
      }
    }
  }
  t.ok(used.size >= 10, `${used.size} of them`)
  for (const [command, options] of used) {
    const help = execFileSync(
      process.execPath,
      [compiled('programs/main.js'), ...command.split(' '), '--help'],
      {
        encoding: 'utf8',
      },
    )
    t.match(help, new RegExp(`^Usage: weir ${command}\\b`), command)
    for (const option of options) t.ok(help.includes(option), `${command} ${option}`)
  }
  t.end()
})

const npxWeir = /\bnpx (?!--no )(?:-\S+ )*weir\b/

t.test('nor does a command that the console or the command line shows', (t) => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.tsx?$/.test(file),
  )
  t.ok(files.length > 500)
  const shown = files.filter((file) => npxWeir.test(readFileSync(join('src', file), 'utf8')))
  t.strictSame(shown, [])
  t.end()
})

t.test('no document has npx fetch the public package weir, which is another program', (t) => {
  for (const page of pages)
    for (const line of page.text.split('\n'))
      if (npxWeir.test(line)) t.match(line, '**Never run `npx weir`', page.file)
  t.end()
})

t.test('files and rooms of the architecture', (t) => {
  const architecture = pages.find(({ file }) => file === 'docs/architecture.md')!.text
  const dirsIn = (dir: string): string[] =>
    readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  const wings = dirsIn('src').filter((name) => name !== 'roles')
  const rooms = [
    'roles',
    ...wings.flatMap((wing) => dirsIn(join('src', wing)).map((room) => join(wing, room))),
  ]
  const table = architecture.split('\n## Rooms\n')[1]!.split('\n## ')[0]!
  const listed = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, room]) => room)
  t.strictSame(listed.toSorted(), rooms.map((room) => basename(room)).toSorted())
  const relative = pages.filter(({ file }) => /architecture|concepts|CONTRIBUTING/.test(file))
  for (const { file, text } of relative) {
    const names = [...text.matchAll(/`(?:src\/)?([a-z-]+\/(?:[\w./-]+(?:\.(?:ts|mjs)|\/))?)`/g)]
    t.ok(names.length > 5, file)
    for (const [, name = ''] of names) {
      const places = [
        '',
        'src',
        ...wings.map((wing) => join('src', wing)),
        ...rooms.map((room) => join('src', room)),
      ]
      t.ok(
        places.some((place) => existsSync(join(place, name))),
        `${file}: ${name}`,
      )
    }
  }
  for (const { file, text } of pages) {
    // A recipe shows files that do not exist yet.
    const shown = text.replaceAll(/^```diff\n[\s\S]*?^```$/gm, '')
    for (const [, name = ''] of shown.matchAll(/(?:^|[\s`'"/])((?:src|test|config|dist)\/[\w./-]+\.\w+)/gm)) {
      // Bundles have other names than their sources.
      const isBundle = /^dist\/(programs|evaluate)\//.test(name)
      const origin = isBundle ? name : name.replace(/^dist\/(.*)\.js$/, '$1.ts')
      t.ok(existsSync(origin), `${file}: ${name}`)
    }
  }
  t.end()
})

t.test('every kind of finding has its row, in the order of the list, and a search', (t) => {
  const { text } = sectionOf(pageOf('docs/policies.md'), 'Findings')
  const [, ...rows] = [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind)
  t.strictSame(rows, findingKinds)
  const searches = readdirSync('src/management/insight/findings')
    .map((name) => readFileSync(join('src/management/insight/findings', name), 'utf8'))
    .join('\n')
  for (const kind of findingKinds) t.ok(searches.includes(`'${kind}'`), kind)
  t.end()
})

/** Generated parts follow from the declaration. */
const written = (text: string): string =>
  text.replaceAll(/<!-- generated: [\s\S]*?<!-- end of generated -->/g, '')

/** What a person writes to add something, without the recipes for services. */
const handwritten = ['src', 'config', 'docs']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(tsx?|mjs|jsonc|md)$/.test(name))
      .map((name) => join(folder, name)),
  )
  .filter((file) => !file.startsWith(join('docs', 'recipes')))
  .map((file) => ({ file, text: written(readFileSync(file, 'utf8')) }))

t.test('a kind of destination is known to as many files as the recipe names', (t) => {
  for (const { name } of destinationKinds) {
    const page = name.replaceAll('_', '-')
    const own = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
    const parts = [
      `\\b${own}(?:Form|Forms|Words|Advice)\\b`,
      `kinds/${page}\\.js'`,
      `\\bWEIR_${name.toUpperCase()}_REQUEST_MAX\\b`,
    ]
    const isKnown = new RegExp(parts.join('|'))
    const known = handwritten.filter(
      ({ file, text }) => file.endsWith(`deliver/kinds/${page}.ts`) || isKnown.test(text),
    )
    t.ok(known.length <= filesOfKindMax, `${name}: ${known.map(({ file }) => file).join(', ')}`)
  }
  t.end()
})

t.test('a field of records that is only carried is known to as many files as the recipe names', (t) => {
  // Fields of these groups are read by nothing but events and, some of them, expressions.
  const isCarried =
    /^(backend|basic_auth|circuit_breaker|compression|oauth|user_agent_filter|webhook_verification)\./
  const carried = Object.keys(recordFields.http_request).filter((name) => isCarried.test(name))
  t.ok(carried.length > 5)
  for (const name of carried) {
    const isKnown = new RegExp(`\\b${name.replaceAll('.', '\\??\\.')}\\b`)
    const known = handwritten.filter(({ text }) => isKnown.test(text))
    t.ok(known.length > 1 && known.length <= filesOfFieldMax, `${name}: ${known.map(({ file }) => file)}`)
  }
  t.end()
})

t.test('a page with a table and a form is known to as many files as the recipe names', (t) => {
  const declared = handwritten.filter(({ text }) => /^(?:export )?const \w+: PlainResource</m.test(text))
  t.ok(declared.length > 4)
  const menu = handwritten.find(({ file }) => file === 'src/outside/console/pages.ts')!
  for (const { file } of declared) {
    const name = basename(file).replace(/\.tsx$/, '')
    const isImport = new RegExp(`/${name}\\.js'`)
    const known = handwritten.filter((each) => each.file === file || isImport.test(each.text))
    // Those that show it on a page of several, and the menu.
    const all = new Set([...known, menu])
    t.ok(all.size > 1 && all.size <= filesOfPageMax, `${file}: ${[...all].map((each) => each.file)}`)
  }
  t.end()
})
