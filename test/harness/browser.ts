/** A real browser for tests and pictures: the system's Chromium, if installed. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { env } from 'node:process'
import { type Browser, chromium } from 'playwright-core'

/** The first is the same engine without the windows of a browser, which take half of the CPU though nobody sees them. */
const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const dirs = (env['PATH'] ?? '').split(delimiter).concat('/usr/bin')

const chromiumPath: string | undefined = names
  .flatMap((name) => dirs.map((dir) => join(dir, name)))
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
