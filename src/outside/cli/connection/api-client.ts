/** The client of the API that commands use, with the address and the key that the settings or a profile name. */
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../../ground/core/text/times.js'
import { NoAnswer } from '../../../management/process/running-service.js'
import type { Settings } from '../../../management/process/settings.js'
import { type Client, openClient } from '../../../words/client/client.js'
import type { HttpOptions } from '../../../words/client/http.js'
import { type Access, accessOf } from './access.js'

/** A text as people may see it. */
type Shown = (text: string) => string

/** A client with the key of the environment, or of a profile. `shown`: of warnings, which may repeat what was sent. */
export const clientOf = (settings: Settings, shown?: Shown): Client => openApi(accessOf(settings), shown)

export const openApi = (
  { url, key, advice }: Access,
  shown: Shown = (text) => text,
  waiting: Pick<HttpOptions, 'waitMs' | 'waits'> = {},
): Client => openClient({ url, token: key, warned: warnOnce(shown), fetch: fetchOrSay(advice), ...waiting })

/** For a request without an answer, the message of `fetch` is two words, which name neither the place nor the reason. */
const fetchOrSay =
  (advice: string): typeof fetch =>
  async (url, init) => {
    try {
      return await fetch(url, init)
    } catch (error) {
      const { origin } = new URL(String(url))
      if ((error as Error).name === 'TimeoutError')
        throw new NoAnswer(`${origin} has not answered in time.`, { cause: error })
      if (!(error instanceof TypeError)) throw error
      const { cause } = error as { readonly cause?: Error & { readonly code?: string } }
      const why = cause?.code ?? cause?.message ?? error.message
      throw new NoAnswer(
        `${origin} does not answer (${why}): start Weir there (npm start, or weir serve), or ${advice}.`,
        { cause: error },
      )
    }
  }

/** Each warning once, apart from what the command prints. */
function warnOnce(shown: Shown): (warning: string) => void {
  const before = new Set<string>()
  return (warning) => {
    if (before.has(warning)) return
    before.add(warning)
    process.stderr.write(`Warning: ${forTerminal(sentenceForTerminal(shown(warning)))}\n`)
  }
}
