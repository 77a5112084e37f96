/** The list of formats: a format is a file, and a line here. */

import { caddy } from './formats/caddy.js'
import { combined } from './formats/combined.js'
import { envoy } from './formats/envoy.js'
import { haproxy } from './formats/haproxy.js'
import { ndjson } from './formats/ndjson.js'
import { nginx } from './formats/nginx.js'
import { traefik } from './formats/traefik.js'
import type { Format } from './lines/format.js'

/** A program may add formats before it loads anything else. */
export const formats: Format[] = [nginx, haproxy, envoy, caddy, traefik, combined, ndjson]
