/** Has V8 collect garbage that it would leave for long. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options?: { readonly type: 'minor' }) => void

let collect: Collect | undefined

/** `young`: only what was made since the last collections; takes less than a millisecond, if little of it is in use. */
export function collectGarbage(objects: 'young' | 'all'): void {
  collect ??= exposed()
  // Not of the type `major`: if V8 has begun to mark, that one only ends it, and keeps what has become garbage since.
  if (objects === 'all') collect()
  else collect({ type: 'minor' })
}

/** The same as `--expose-gc`; not every role is started with options of its own. Only a new context has the function. */
function exposed(): Collect {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}
