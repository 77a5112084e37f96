/**
 * Loaded into every process of a Weir before its own code: a record with this id ends the process that parses it, like
 * a defect of the runtime that can't be caught.
 */
const lethal = '"record_id":"ends-whoever-parses-it'

const parse = JSON.parse

JSON.parse = (text, reviver) => {
  if (text.includes(lethal)) process.kill(process.pid, 'SIGKILL')
  return parse(text, reviver)
}

export {}
