#!/usr/bin/env node
/** The command `weir`. A clone is made ready first; an image and an installed package hold the built programs. */
import { existsSync } from 'node:fs'
import { argv, env, exit, stderr, versions } from 'node:process'

const [major = 0, minor = 0] = versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  stderr.write(`weir: Node ${versions.node} is too old: 20.19 or newer is needed.\n`)
  exit(1)
}

const isClone = existsSync(new URL('main.ts', import.meta.url))
/** Commands that run a local nats-server unless NATS_URL is set, itself or by a file. */
const runsNatsServer =
  argv.some((word) => ['serve', 'demo', 'bench'].includes(word)) && !env.NATS_URL && !env.NATS_URL_FILE
if (isClone) {
  const { prepareOrExit } = await import('../config/prepare.mjs')
  await prepareOrExit({ natsServer: runsNatsServer })
} else if (runsNatsServer) {
  const { provideNatsServer } = await import('../config/provide-nats-server.mjs')
  const reason = provideNatsServer(env, (line) => stderr.write(`weir: ${line}\n`))
  // No reason to end: a file of settings may name a NATS that runs elsewhere.
  if (reason !== undefined) stderr.write(`weir: Fetching a nats-server failed: ${reason}.\n`)
}
const main = new URL('../dist/programs/main.js', import.meta.url)
await import(main.href)
