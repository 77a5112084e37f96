/** Connections to a ClickHouse server over TLS: by which files, and what is wrong if there is none. */
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { certificateFault } from '../../../ground/core/certificate-fault.js'

/** Paths, of files in PEM. */
export interface ClickhouseFiles {
  /** Certificates of authorities; default: those that Node trusts. */
  readonly ca?: string | undefined
  /** The certificate of this client, and its key. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** As many as the client library opens by itself. */
const connectionsMax = 10

/** Reads the files for each connection, so that what is in them can be replaced while the process runs. */
class FileAgent extends Agent {
  readonly #files: ClickhouseFiles

  constructor(files: ClickhouseFiles) {
    // Without a cache of sessions, which would go on without a look at the certificates of today.
    super({ keepAlive: true, maxSockets: connectionsMax, maxCachedSessions: 0 })
    this.#files = files
  }

  override createConnection(...[options, connected]: Parameters<Agent['createConnection']>) {
    return super.createConnection({ ...options, ...readFiles(this.#files) }, connected)
  }
}

const readFiles = (files: ClickhouseFiles): Record<string, Buffer> =>
  Object.fromEntries(
    Object.entries(files).flatMap(([name, path]) => (path === undefined ? [] : [[name, readFileSync(path)]])),
  )

/** Options of the client; none if no file is named. */
export function tlsOptions(url: string, { ca, cert, key }: ClickhouseFiles) {
  if (ca === undefined && cert === undefined) return {}
  const http_agent = new FileAgent({ ca, cert, key })
  const { username, password } = new URL(url)
  if (cert === undefined || password !== '') return { http_agent }
  // A user without a password is known by its certificate. The server refuses a request that has both.
  const http_headers = {
    'X-ClickHouse-User': decodeURIComponent(username) || 'default',
    'X-ClickHouse-SSL-Certificate-Auth': 'on',
  }
  return { http_agent, http_headers, set_basic_auth_header: false }
}

/** The error itself, unless a certificate is at fault: then one that says so. */
export function explained(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const fault = certificateFault(error, { ca: 'CLICKHOUSE_CA', cert: 'CLICKHOUSE_CERT' })
  return fault === undefined ? error : new Error(`ClickHouse can't be used: ${fault}.`, { cause: error })
}
