/** Loaded into `weir publish` by a test: a format that the product does not have, from its declaration alone. */

import { formats } from '../../../src/delivery/ingest/formats.js'
import { ok } from '../../../src/ground/core/errors.js'

formats.push({
  name: 'words',
  about: 'an address and a path',
  read(line) {
    const [client, uri] = line.split(' ')
    return ok({ client, uri, host: 'words.example', method: 'GET' })
  },
})
