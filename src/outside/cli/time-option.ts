/** Options that are a time, or how long ago it is: another text is a wrong call, and nothing is asked for. */
import { pastTimeFormsPlain, timeIn } from '../../ground/core/text/units.js'

/** For `Command.option`. The API reads the text again, by its own clock. */
export function timeOption(text: string): string {
  if (timeIn(text) === undefined) throw new WrongArgument(`It must be ${pastTimeFormsPlain}.`)
  return text
}

/** The library, which only the program itself knows, tells it by its code. */
class WrongArgument extends Error {
  readonly code = 'commander.invalidArgument'
}
