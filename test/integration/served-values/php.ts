/** PHP behind nginx, as most of it runs: what a script sees of a request. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { nginx } from '../../harness/asking-proxies.js'
import { freePorts } from '../../harness/free-ports.js'
import { configuredNginx } from '../../harness/nginx-file.js'
import { optionalProgram } from '../../harness/optional-program.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

/** A name has a text, or an array of them, which may have arrays. */
type Variable = string | { readonly [key: string]: Variable }
type Variables = Readonly<Record<string, Variable>>

export interface SeenByPhp {
  readonly get: Variables
  readonly cookie: Variables
  readonly server: Variables
}

/** Undefined if it is not installed. */
export const phpProgram: string | undefined = nginx.program && optionalProgram('php-cgi', 'php/bin/php-cgi')

const script = `<?php
echo json_encode(['get' => $_GET, 'cookie' => $_COOKIE, 'server' => $_SERVER],
  JSON_INVALID_UTF8_SUBSTITUTE | JSON_FORCE_OBJECT | JSON_THROW_ON_ERROR);
`

/** Resolves with a function that sends a request as it is; undefined if nginx refuses it. */
export async function openPhp(t: Test): Promise<(bytes: string) => Promise<SeenByPhp | undefined>> {
  const dir = tempDir(t)
  const [port, phpPort] = (await freePorts(2)) as [number, number]
  writeFileSync(join(dir, 'seen.php'), script)
  const args = configuredNginx(
    dir,
    // Names with an underscore and other signs are passed on, as other servers do.
    `access_log off;
server {
listen 127.0.0.1:${port}; keepalive_timeout 0; chunked_transfer_encoding off;
underscores_in_headers on; ignore_invalid_headers off;
location / {
include /etc/nginx/fastcgi_params;
fastcgi_param SCRIPT_FILENAME "${join(dir, 'seen.php')}";
fastcgi_pass 127.0.0.1:${phpPort};
}
}`,
  )
  // By itself it ends after 500 requests.
  const env = { ...process.env, PHP_FCGI_MAX_REQUESTS: '0' }
  const started = [
    // Without a file of settings: those of PHP itself.
    spawn(phpProgram!, ['-n', '-b', `127.0.0.1:${phpPort}`], { cwd: dir, env }),
    spawn(nginx.program!, args, { cwd: dir }),
  ]
  let said = ''
  for (const child of started) {
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)))
    t.teardown(async () => {
      const closed = once(child, 'exit')
      if (child.exitCode === null && child.kill()) await closed
    })
  }
  const see = async (bytes: string): Promise<SeenByPhp | undefined> => seenIn(await answerTo(port, bytes))
  await until('PHP serves', async () => {
    if (started.some(({ exitCode }) => exitCode !== null)) throw new Error(said)
    return (await see('GET / HTTP/1.1\r\nHost: a\r\n\r\n')) !== undefined
  })
  return see
}

async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(Buffer.from(bytes, 'latin1'))
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', () => {})
  await new Promise((resolve) => socket.on('close', resolve))
  return Buffer.concat(chunks).toString()
}

/** A script that fails answers 200 or 500 with a text that is no JSON: then this throws. */
function seenIn(answer: string): SeenByPhp | undefined {
  if (!/^HTTP\/1\.1 [25]/.test(answer) || answer.startsWith('HTTP/1.1 502')) return undefined
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  return JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1)) as SeenByPhp
}

/** The variable's texts, those within arrays, too. */
export function textsOf(variable: Variable | undefined): string[] {
  if (variable === undefined) return []
  return typeof variable === 'string' ? [variable] : Object.values(variable).flatMap(textsOf)
}
