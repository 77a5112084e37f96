/** The client of commands that look at a whole account, which takes more requests than others make. */
import type { Settings } from '../../../management/process/settings.js'
import type { Client } from '../../../words/client/client.js'
import { accessOf } from '../connection/access.js'
import { openApi } from '../connection/api-client.js'
import { clearLine } from '../progress.js'

/** For a command that may have more requests than the API answers within a minute: it goes on in the next one. */
export const patientClientOf = (settings: Settings, shown?: (text: string) => string): Client =>
  openApi(accessOf(settings), shown, { waitMs: 90_000, waits: sayOnce() })

/** A person would take a longer wait for a command that hangs. */
const saidFromMs = 5_000

function sayOnce(): (ms: number) => void {
  let isSaid = false
  return (ms) => {
    if (isSaid || ms < saidFromMs) return
    isSaid = true
    process.stderr.write(
      `${process.stderr.isTTY ? clearLine : ''}weir: The API answers no more requests of the account for ${ms / 1000} s (WEIR_RATE_LIMIT): this command waits, and goes on.\n`,
    )
  }
}
