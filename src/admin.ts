/**
 * The commands of an operator (accounts, rights, SQL), carried out by the process that owns the store. Where the
 * service runs, the command line sends them there, over loopback and with the token the service left in its data
 * directory; else it opens the store itself.
 */
import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { decideHostname, describeReport, listReports } from './api/abuse-reports.js'
import { cli, createAccount, grantRight } from './api/accounts.js'
import type { StoreParts } from './app.js'
import { randomToken } from './core/clock.js'
import { badRequest, messageOf } from './core/errors.js'
import { requestBodyBytesMax } from './core/limits.js'
import type { Clickhouse, TextFormat } from './store/clickhouse.js'

/** A command and its arguments, as they travel. */
export interface AdminCommand {
  readonly command: string
  readonly [argument: string]: string
}

type Commands = Readonly<Record<string, (parts: StoreParts, args: AdminCommand) => Promise<string>>>

const formats: Readonly<Record<string, TextFormat>> = {
  pretty: 'PrettyCompactMonoBlock',
  tsv: 'TSVWithNames',
  csv: 'CSVWithNames',
  json: 'JSONEachRow',
}

const commands: Commands = {
  async 'account create'({ store, writes }, { name = '' }) {
    const made = await createAccount(store, writes, name)
    return `account: ${made?.accountId}\nkey: ${made?.keyId}\ntoken: ${made?.token}\n`
  },
  async 'account grant'({ store }, { account = '', right = '' }) {
    const row = await grantRight(store, account, right)
    return `account: ${row.id}\nrights: ${(row['rights'] as string[]).join(', ')}\n`
  },
  'abuse list': async (parts, { all = '' }) => listReports(parts, all !== ''),
  async 'abuse decide'(parts, { report = '', hostname = '', status = '' }) {
    const decision = { report_id: report, hostname, status: status.toUpperCase() }
    return describeReport(await decideHostname(parts, cli, decision))
  },
  sql: ({ clickhouse }, command) => querySql(clickhouse, command),
  async 'store adopt'({ store }) {
    await store.adoptClickhouse()
    return 'The configuration in NATS was made anew from ClickHouse.\n'
  },
}

/** The answer of a query, which can change nothing. It needs the database alone. */
export async function querySql(clickhouse: Clickhouse, command: AdminCommand): Promise<string> {
  const { query = '', format = 'pretty' } = command
  const known = Object.hasOwn(formats, format) ? formats[format] : undefined
  if (known === undefined)
    throw badRequest(`There is no format "${format}": ${Object.keys(formats).join(', ')}.`)
  return clickhouse.text(query, known)
}

/** The answer as text for a person. Throws with a sentence. */
export function runAdminCommand(parts: StoreParts, command: AdminCommand): Promise<string> {
  const run = Object.hasOwn(commands, command.command) ? commands[command.command] : undefined
  if (run === undefined) throw badRequest(`There is no command "${command.command}".`)
  return run(parts, command)
}

export interface AdminServer {
  readonly url: string
  readonly token: string
  close(): Promise<void>
}

/** Answers the command line, on loopback alone and only with the token. */
export async function openAdminServer(parts: StoreParts): Promise<AdminServer> {
  const token = randomToken(32)
  const server = createServer((request, response) => void answer(parts, token, request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port: 0 }, resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    token,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  parts: StoreParts,
  token: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const say = (status: number, text: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(text)
  }
  if (request.method !== 'POST' || !holdsToken(request, token)) return say(403, 'Not for you.')
  try {
    say(200, await runAdminCommand(parts, JSON.parse(await bodyOf(request)) as AdminCommand))
  } catch (error) {
    say(400, messageOf(error))
  }
}

function holdsToken(request: IncomingMessage, token: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '')
  const wanted = Buffer.from(`Bearer ${token}`)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes > requestBodyBytesMax) throw badRequest('The command is too long.')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Sends a command to the service that left these addresses. Throws with its sentence. */
export async function sendAdminCommand(url: string, token: string, command: AdminCommand): Promise<string> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(command),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(text)
  return text
}
