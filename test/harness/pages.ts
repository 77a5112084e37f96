/** The pages that a process serves without an API key: metrics, readiness, documents. */
import { type RunningWeir, until } from './weir.js'

/** The page of metrics of a role. */
export const metricsOf = async (url: string): Promise<string> => (await fetch(`${url}/metrics`)).text()

export interface Ready {
  readonly status: number
  /** Reasons by part. */
  readonly failing: Readonly<Record<string, string>>
}

export async function readyOf(url: string): Promise<Ready> {
  const response = await fetch(`${url}/readyz`)
  const { failing } = (await response.json()) as Pick<Ready, 'failing'>
  return { status: response.status, failing }
}

export const isReady = async (url: string): Promise<boolean> => (await readyOf(url)).status === 200

/** A JSON document, such as `/openapi.json`. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every shape.
export const documentAt = async (url: string): Promise<any> => (await fetch(url)).json()

/** Resolves when this part is named as failing, for this reason. */
export async function untilNamed(
  { url, process }: Pick<RunningWeir, 'url' | 'process'>,
  part: string,
  says: RegExp,
): Promise<void> {
  let last: Ready | undefined
  try {
    await until(`${part} is named`, async () => {
      last = await readyOf(url)
      return last.status === 503 && says.test(last.failing[part] ?? '')
    })
  } catch (error) {
    throw new Error(`${String(error)} ${JSON.stringify(last)} ${process.output().slice(-2_000)}`)
  }
}
