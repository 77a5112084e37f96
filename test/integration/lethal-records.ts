/**
 * Loaded into every process of a Weir before its own code: a record that is named so ends the process that parses
 * it, as a defect of the runtime would, which nobody can catch.
 */
const lethal = '"record_id":"ends-whoever-parses-it'

const parse = JSON.parse

JSON.parse = (text, reviver) => {
  if (text.includes(lethal)) process.kill(process.pid, 'SIGKILL')
  return parse(text, reviver)
}

export {}
