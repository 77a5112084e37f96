import type { Format } from '../lines/format.js'
import { jsonObject } from '../lines/values.js'

/** Records as docs/ingress.md describes them. */
export const ndjson: Format = {
  name: 'ndjson',
  about: 'records of Weir (docs/ingress.md), one JSON object per line; record_id may be missing',
  isRecord: true,
  read: jsonObject,
}
