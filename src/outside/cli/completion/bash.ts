/** Completion for bash, from 3.2 on. */
import { type Lists, quoted } from './places.js'

type Named = Lists['flags'][number]

export const bashScript = ({ valueFlags, commands, values, flags, words }: Lists): string => `\
# Completion of weir for bash: weir completion bash
_weir() {
  local current=\${COMP_WORDS[COMP_CWORD]} at='' before='' words='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
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
  elif [[ $current == -* ]]; then
    case "$at" in
${flags.map(branch).join('\n')}
    esac
  else
    case "$at" in
${words.map(branch).join('\n')}
    esac
  fi
  # If there is no word, -o default completes names of files.
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _weir weir
`

const branch = ([name, words]: Named): string =>
  `      ${quoted(name)}) words=${quoted(words.map(({ word }) => word).join(' '))} ;;`
