/** Completion, in real shells: what a person is offered behind words that are typed. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bashScript } from '../../../src/outside/cli/completion/bash.js'
import { fishScript } from '../../../src/outside/cli/completion/fish.js'
import { listsOf, placesOf } from '../../../src/outside/cli/completion/places.js'
import { zshScript } from '../../../src/outside/cli/completion/zsh.js'
import { commandTree } from '../../harness/command-tree.js'
import { optionalProgram } from '../../harness/optional-program.js'
import { tempDir } from '../../harness/temp-dir.js'

/** Words as typed, the last one perhaps in part, and what is offered: all of it, or some of it. */
const cases: readonly (readonly [typed: readonly string[], all: boolean, offered: readonly string[]])[] = [
  [['sta'], true, ['status']],
  [['destination', 'pa'], true, ['pause']],
  [['destination', ''], false, ['status', 'check', 'iam-policy', 'attempts', 'pause', 'resume']],
  [['--profile', 'status', 'destination', 're'], true, ['resume']],
  [['destination', '--config', 'dead', 'at'], true, ['attempts']],
  [['lint', '--str'], true, ['--strict']],
  [['lint', '--prof'], true, ['--profile']],
  [['rules', 'che'], true, ['check']],
  [['try', 'rules', 'ipp_1', '--file', 'x', '--action', ''], true, ['allow', 'deny']],
  [['completion', ''], true, ['bash', 'zsh', 'fish']],
  [['quar'], true, []],
]

interface Shell {
  readonly name: 'bash' | 'zsh' | 'fish'
  readonly script: typeof fishScript
  /** The text that makes it print what it offers. */
  readonly asked: (script: string, words: readonly string[]) => string
  /** Does it leave it to the completion itself to drop what does not begin like this? */
  readonly offersAll?: true
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ')

const shells: readonly Shell[] = [
  {
    name: 'bash',
    script: bashScript,
    asked: (script, words) =>
      `source '${script}'; COMP_WORDS=(weir ${quoted(words)}); COMP_CWORD=${words.length}; _weir; printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  {
    name: 'zsh',
    script: zshScript,
    offersAll: true,
    // Outside of its line editor, zsh has no completion system.
    asked: (script, words) =>
      `compdef() { :; }; _files() { :; }; _describe() { print -rl -- "\${(@P)2}"; }; source '${script}'; words=(weir ${quoted(words)}); CURRENT=${words.length + 1}; _weir`,
  },
  {
    name: 'fish',
    script: fishScript,
    asked: (script, words) => `source '${script}'; complete -C 'weir ${words.join(' ')}'`,
  },
]

function offeredBy(shell: Shell, program: string, script: string, words: readonly string[]): string[] {
  const plain = { bash: ['--norc', '--noprofile'], zsh: ['-f'], fish: ['--no-config'] }[shell.name]
  const text = execFileSync(program, [...plain, '-c', shell.asked(script, words)], { encoding: 'utf8' })
  const begin = words.at(-1) ?? ''
  return text
    .split('\n')
    .map((line) => line.split(/[\t:]/)[0] ?? '')
    .filter((word) => word !== '' && (!shell.offersAll || word.startsWith(begin)))
}

async function check(t: Test, shell: Shell, program: string): Promise<void> {
  const script = join(tempDir(t), 'script')
  const places = placesOf(await commandTree())
  writeFileSync(script, shell.script(listsOf(places), places))
  for (const [typed, all, offered] of cases) {
    const found = offeredBy(shell, program, script, typed)
    const wanted = all ? found : found.filter((word) => offered.includes(word))
    t.strictSame(wanted.toSorted(), offered.toSorted(), typed.join(' '))
  }
  const files = offeredBy(shell, program, script, ['test', './no-such'])
  t.strictSame(files, [], 'a file is left to the shell')
  if (shell.name !== 'bash') return
  for (const { path, commands, flags } of places) {
    const words = path === '' ? [] : path.split(' ')
    const names = commands.map(({ word }) => word)
    if (names.length > 0) t.strictSame(offeredBy(shell, program, script, [...words, '']), names, path)
    t.strictSame(
      offeredBy(shell, program, script, [...words, '--']),
      flags.map(({ word }) => word),
      `${path} --`,
    )
  }
}

for (const shell of shells) {
  const program = optionalProgram(shell.name, `${shell.name}/bin/${shell.name}`)
  const skip = program === undefined && `${shell.name} is not installed`
  t.test(shell.name, { skip }, async (t) => check(t, shell, program ?? ''))
}
