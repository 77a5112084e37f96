/** The table of all parsers that are fuzzed: a parser is a row in a file of `parsers`. */
import type { FuzzedParser } from './engine/parser.js'
import { answerParsers } from './parsers/answers.js'
import { configurationParsers } from './parsers/configuration.js'
import { expressionParsers } from './parsers/expressions.js'
import { fileParsers } from './parsers/files.js'
import { keyParsers } from './parsers/keys.js'
import { letterParsers } from './parsers/letters.js'
import { listParsers } from './parsers/lists.js'
import { logParsers } from './parsers/logs.js'
import { otlpParsers } from './parsers/otlp.js'
import { recordParsers } from './parsers/records.js'
import { requestParsers } from './parsers/requests.js'
import { storedParsers } from './parsers/stored.js'

export const fuzzedParsers: readonly FuzzedParser[] = [
  ...recordParsers,
  ...logParsers,
  ...otlpParsers,
  ...storedParsers,
  ...letterParsers,
  ...listParsers,
  ...expressionParsers,
  ...keyParsers,
  ...requestParsers,
  ...answerParsers,
  ...configurationParsers,
  ...fileParsers,
]
