/** A real browser for tests: the system's Chromium, if installed. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { env } from 'node:process'
import { type Browser, chromium } from 'playwright-core'

const names = ['chromium', 'chromium-browser', 'google-chrome']

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const chromiumPath: string | undefined = (env['PATH'] ?? '')
  .split(delimiter)
  .concat('/usr/bin')
  .flatMap((dir) => names.map((name) => join(dir, name)))
  .find(isExecutable)

/** Why a test must be skipped; false if there is a browser. */
export const noChromium: string | false =
  chromiumPath === undefined ? 'There is no Chromium on this system.' : false

/** No requests to the internet, and nothing that a container lacks. */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Has its own profile, which is removed when it is closed. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath!, headless: true, args })
