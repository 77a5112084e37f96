/**
 * Loaded into every process of a Weir before its own code: a record with this id ends the process that reads it, by
 * `JSON.parse` or the pattern of a shape, like a defect of the runtime that can't be caught.
 */
const lethal = '"record_id":"ends-whoever-parses-it'
const patternStart = '^\\{'

const endIfLethal = (text: string): void => {
  if (text.includes(lethal)) process.kill(process.pid, 'SIGKILL')
}

const { parse } = JSON
JSON.parse = (text, reviver) => {
  endIfLethal(text)
  return parse(text, reviver)
}

const { exec } = RegExp.prototype
RegExp.prototype.exec = function (this: RegExp, text) {
  if (this.source.startsWith(patternStart)) endIfLethal(text)
  return exec.call(this, text)
}

export {}
