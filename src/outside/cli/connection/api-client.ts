/** The client of the API that commands use, with the key of the settings. */
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { sentenceForTerminal } from '../../../ground/core/text/times.js'
import { NoAnswer, readRuntime } from '../../../management/process/running-service.js'
import type { Settings } from '../../../management/process/settings.js'
import { type Client, openClient } from '../../../words/client/client.js'
import { UsageFault } from '../guide/exit-codes.js'

/**
 * A client with the key of the settings. It uses the service that the settings name, or the one that runs on the data
 * directory.
 */
export function clientOf({ client: { url, key }, data }: Settings): Client {
  const found = url ?? readRuntime(data.dir)?.apiUrl
  if (found === undefined)
    throw new NoAnswer(`No service runs on ${data.dir}: set WEIR_DATA_DIR, or WEIR_API_URL to its address.`)
  if (key === undefined) throw new UsageFault('Set WEIR_API_KEY to the token of an API key.')
  return openClient({ url: found, token: key, warned: warnOnce(), fetch: fetchOrSay })
}

/** For a request without an answer, the message of `fetch` is two words, which name neither the place nor the reason. */
async function fetchOrSay(...[url, init]: Parameters<typeof fetch>): Promise<Response> {
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
      `${origin} does not answer (${why}): start Weir there (npm start, or weir serve), or set WEIR_API_URL to where it runs.`,
      { cause: error },
    )
  }
}

/** Each warning once, apart from what the command prints. */
function warnOnce(): (warning: string) => void {
  const before = new Set<string>()
  return (warning) => {
    if (before.has(warning)) return
    before.add(warning)
    process.stderr.write(`Warning: ${forTerminal(sentenceForTerminal(warning))}\n`)
  }
}
