/** What can be typed at each place of a command line, read from the commands themselves. */
import type { Command, Option } from 'commander'
import { commandsBelow, pathOf } from '../guide/help.js'

interface Word {
  readonly word: string
  /** One line. */
  readonly about: string
}

export interface Flag extends Word {
  readonly takesValue: boolean
  /** The values that it may have; empty if they can't be listed. */
  readonly values: readonly Word[]
}

/** Behind the words of a command. */
export interface Place {
  /** `destination status`; empty behind the program. */
  readonly path: string
  readonly commands: readonly Word[]
  /** What its first argument may be; empty if that can't be listed. */
  readonly values: readonly Word[]
  /** Those of the program, too. */
  readonly flags: readonly Flag[]
}

export const placesOf = (program: Command): readonly Place[] =>
  [program, ...commandsBelow(program)].map((command) => ({
    path: command === program ? '' : pathOf(command),
    commands: command
      .createHelp()
      .visibleCommands(command)
      .map((each) => ({ word: each.name(), about: lineOf(each.summary() || each.description()) })),
    values: choicesOf(command.registeredArguments[0]),
    flags: flagsOf(command, program),
  }))

function flagsOf(command: Command, program: Command): readonly Flag[] {
  const help = command.createHelp()
  const own = help.visibleOptions(command)
  const others = command === program ? [] : program.options.filter(({ hidden }) => !hidden)
  return [...own, ...others].flatMap((option) => (option.long ? [flagOf(option, option.long)] : []))
}

const flagOf = (option: Option, word: string): Flag => ({
  word,
  about: lineOf(option.description),
  takesValue: option.required,
  values: choicesOf(option),
})

const choicesOf = (taker: { readonly argChoices?: string[] | undefined } = {}): readonly Word[] =>
  (taker.argChoices ?? []).map((word) => ({ word, about: '' }))

const lineOf = (text: string): string => text.replaceAll(/\s+/g, ' ')

type Named = readonly [name: string, words: readonly Word[]]

/** The places as the lists that a script looks its words up in. A flag is named with its place: `destination status:--json`. */
export interface Lists {
  readonly valueFlags: readonly string[]
  readonly commands: readonly string[]
  /** What may follow a flag, by its name. */
  readonly values: readonly Named[]
  /** By the path. */
  readonly flags: readonly Named[]
  /** Commands and values of arguments, by the path. */
  readonly words: readonly Named[]
}

export function listsOf(places: readonly Place[]): Lists {
  const flags = places.flatMap((place) =>
    place.flags.map((flag) => ({ ...flag, name: `${place.path}:${flag.word}` })),
  )
  const filled = (named: readonly Named[]) => named.filter(([, words]) => words.length > 0)
  return {
    valueFlags: flags.filter(({ takesValue }) => takesValue).map(({ name }) => name),
    commands: places.flatMap(({ path, commands }) => commands.map(({ word }) => `${path}:${word}`)),
    values: filled(flags.map(({ name, values }) => [name, values])),
    flags: places.map((place) => [place.path, place.flags]),
    words: filled(places.map(({ path, commands, values }) => [path, [...commands, ...values]])),
  }
}

/** For shells that quote like sh: whatever the text is, it is one word. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
