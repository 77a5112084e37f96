/** Completion for zsh. */
import { type Lists, quoted } from './places.js'

type Named = Lists['flags'][number]

/** The variable `path` is the search path of zsh, so the place is `at`. */
export const zshScript = ({ valueFlags, commands, values, flags, words }: Lists): string => `\
#compdef weir
# Completion of weir for zsh: weir completion zsh
_weir() {
  local at='' before='' word i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $before ]]; then before=''; continue; fi
    case "$at:$word" in
      ${valueFlags.map(quoted).join(' | ')}) before=$word ;;
      *:-*) ;;
      ${commands.map(quoted).join(' | ')}) at=\${at:+$at }$word ;;
    esac
  done
  if [[ -n $before ]]; then
    case "$at:$before" in
${values.map(branch).join('\n')}
    esac
  elif [[ \${words[CURRENT]} == -* ]]; then
    case "$at" in
${flags.map(branch).join('\n')}
    esac
  else
    case "$at" in
${words.map(branch).join('\n')}
    esac
  fi
  if (( \${#found} )); then _describe weir found; else _files; fi
}
compdef _weir weir
`

const branch = ([name, words]: Named): string =>
  `      ${quoted(name)}) found=(${words.map(described).map(quoted).join(' ')}) ;;`

/** `_describe` takes a colon for the end of the word. */
const described = ({ word, about }: Named[1][number]): string =>
  about === '' ? word : `${word}:${about.replaceAll(/[\\:]/g, '\\$&')}`
