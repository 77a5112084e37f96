/** Completion for fish, from 3.0 on. */
import type { Flag, Lists, Place } from './places.js'

/** Fish knows two escapes between single quotes. */
const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

export const fishScript = ({ valueFlags, commands }: Lists, places: readonly Place[]): string => `\
# Completion of weir for fish: weir completion fish
function __weir_at
  set -l at ''
  set -l before ''
  for word in (commandline -opc)[2..-1]
    if test -n "$before"
      set before ''
      continue
    end
    switch "$at:$word"
      case ${valueFlags.map(quoted).join(' ')}
        set before $word
      case '*:-*'
      case ${commands.map(quoted).join(' ')}
        set at (string trim "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
complete -c weir -e
${places.flatMap(linesOf).join('\n')}
`

function linesOf({ path, commands, values, flags }: Place): string[] {
  const at = `complete -c weir -n ${quoted(`__weir_at ${quoted(path)}`)}`
  return [
    ...[...commands, ...values].map(
      ({ word, about }) => `${at} -f -a ${quoted(word)}${about && ` -d ${quoted(about)}`}`,
    ),
    ...flags.map((flag) => `${at} ${flagText(flag)}`),
  ]
}

function flagText({ word, about, takesValue, values }: Flag): string {
  const choices = quoted(values.map((each) => each.word).join(' '))
  const value = values.length > 0 ? ` -x -a ${choices}` : takesValue ? ' -r' : ''
  return `-l ${word.replace(/^--/, '')}${value} -d ${quoted(about)}`
}
