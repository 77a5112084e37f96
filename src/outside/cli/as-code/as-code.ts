/** `weir export` and `weir apply`: an account's configuration as files. */
import { writeFile } from 'node:fs/promises'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { environment, type Settings } from '../../../management/process/settings.js'
import { ApiError, type Client } from '../../../words/client/client.js'
import { readAccount } from '../../as-code/account-state.js'
import { Application, versionOf } from '../../as-code/apply.js'
import type { Difference } from '../../as-code/difference.js'
import { exported } from '../../as-code/export.js'
import { fileSchema } from '../../as-code/file-schema.js'
import { headline } from '../../as-code/plan-report.js'
import { SourceFiles } from '../../as-code/source-files.js'
import { ProgressLine } from '../progress.js'
import { patientClientOf } from './patient-client.js'
import { planOf, summaryOf } from './plan.js'

export interface ApplyOptions {
  readonly prune?: true
  readonly json?: true
  readonly tokens?: string
}

const print = (text: string): void => void process.stdout.write(`${forTerminal(text)}\n`)

export interface ExportOptions {
  readonly output?: string
  readonly schema?: true
  readonly json?: true
}

export async function exportAccount(
  settings: Settings,
  { output, schema, json }: ExportOptions,
): Promise<void> {
  const text = schema
    ? `${JSON.stringify(fileSchema(), undefined, 2)}\n`
    : exported(await readAccount(patientClientOf(settings)), json)
  if (output === undefined) process.stdout.write(text)
  else await writeFile(output, text)
}

/** Runs that begin again because others change the account. */
const runsMax = 5

export async function applyFiles(
  settings: Settings,
  paths: readonly string[],
  options: ApplyOptions,
): Promise<void> {
  const files = SourceFiles.read(paths, environment())
  const { concealed } = files
  const client = patientClientOf(settings, (warning) => concealed.answer(warning))
  return concealed.guard(() => applied(client, files, options))
}

async function applied(client: Client, files: SourceFiles, options: ApplyOptions): Promise<void> {
  const done: Difference[] = []
  for (let runs = 1; ; runs += 1) {
    try {
      return await applyOnce(client, files, options, done)
    } catch (error) {
      if (!isOutdated(error) || runs === runsMax) throw error
      process.stderr.write('The account was changed meanwhile: it is read again.\n')
    }
  }
}

const isOutdated = (error: unknown): boolean =>
  error instanceof ApiError && error.error_code === 'ERR_DRAFT_OUTDATED'

/** `done`: by this run and those before it. */
async function applyOnce(
  client: Client,
  files: SourceFiles,
  options: ApplyOptions,
  done: Difference[],
): Promise<void> {
  const version = await versionOf(client)
  const { plan } = await planOf(client, files, options)
  const before = done.length
  const line = new ProgressLine()
  const application = new Application(client, version, {
    tokens: options.tokens,
    refusalOf: plan.refusalOf,
    done: (difference) => {
      done.push(difference)
      line.end()
      if (!options.json) print(headline(difference))
      const made = { done: done.length - before, of: plan.differences.length }
      line.show(`${made.done} of ${made.of} differences`, made)
    },
  })
  try {
    await application.run(plan)
  } catch (error) {
    line.end()
    const left = plan.differences.length + before - done.length
    if (done.length > 0)
      process.stderr.write(`${done.length} differences are done; ${left} are left for the next run.\n`)
    throw error
  } finally {
    line.end()
  }
  if (options.json) print(JSON.stringify(summaryOf(plan)))
  else print(done.length === 0 ? 'Nothing differs.' : `${done.length} differences are done.`)
}
