/** A web server that events are sent to: it keeps every request, and answers as a check says. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { type Json, NotChecked } from './answer.js'

interface Delivery {
  readonly headers: IncomingHttpHeaders
  /** Uncompressed. */
  readonly body: string
  /** How it was answered. */
  readonly status: number
}

interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

export class Collector {
  readonly #server: Server
  readonly #url: string
  readonly #deliveries = new Map<string, Delivery[]>()
  readonly #replies = new Map<string, (body: string) => Reply>()

  private constructor(server: Server, url: string) {
    this.#server = server
    this.#url = url
    server.on('request', async (request, response) => {
      const chunks: Buffer[] = []
      try {
        for await (const chunk of request) chunks.push(chunk as Buffer)
      } catch {
        return
      }
      const bytes = Buffer.concat(chunks)
      const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
      const path = request.url ?? ''
      const { status, headers = {} } = this.#replies.get(path)?.(body) ?? { status: 204 }
      if (request.method === 'POST') this.deliveries(path).push({ headers: request.headers, body, status })
      response.writeHead(status, headers).end()
    })
  }

  static async open(listen: string, url = `http://${listen}`): Promise<Collector> {
    const [, host = '', port = ''] = /^(.+):(\d+)$/.exec(listen) ?? []
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(new NotChecked(`--listen ${listen}: ${error.message}`)))
      server.listen(Number(port), host.replace(/^\[(.*)\]$/, '$1'), resolve)
    })
    return new Collector(server, url.replace(/\/$/, ''))
  }

  /** The address of a path of this server. */
  urlOf(path: string): string {
    return `${this.#url}${path}`
  }

  deliveries(path: string): Delivery[] {
    const known = this.#deliveries.get(path) ?? []
    this.#deliveries.set(path, known)
    return known
  }

  /** The events that were accepted there, each as its text: bodies of one event, or of lines. */
  texts(path: string): string[] {
    return this.deliveries(path)
      .filter(({ status }) => status < 300)
      .flatMap(({ body }) => body.split('\n'))
      .filter((line) => line !== '')
  }

  events(path: string): Json[] {
    return this.texts(path).map((text) => JSON.parse(text))
  }

  /** How requests to a path are answered from now on. */
  replies(path: string, reply: (body: string) => Reply): void {
    this.#replies.set(path, reply)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
