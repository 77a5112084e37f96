/** `weir export`, `weir plan` and `weir apply`: an account's configuration as files. */
import { writeFile } from 'node:fs/promises'
import { StartFault } from '../../../ground/core/errors.js'
import { forTerminal } from '../../../ground/core/text/terminal.js'
import { environment, type Settings } from '../../../management/process/settings.js'
import { ApiError, type Client } from '../../../words/client/client.js'
import { readAccount } from '../../as-code/account-state.js'
import { Application, versionOf } from '../../as-code/apply.js'
import { Comparison, type Difference, type Plan } from '../../as-code/difference.js'
import { exported } from '../../as-code/export.js'
import { fileSchema } from '../../as-code/file-schema.js'
import { headline, type LastChanges, planReport } from '../../as-code/plan-report.js'
import { SourceFiles } from '../../as-code/source-files.js'
import { clientOf } from '../connection/api-client.js'

export interface PlanOptions {
  readonly prune?: true
  readonly json?: true
}

export interface ApplyOptions extends PlanOptions {
  readonly tokens?: string
}

/** What a program needs to know: 0: no difference, 2: a difference. */
const differs = 2

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
    : exported(await readAccount(clientOf(settings)), json)
  if (output === undefined) process.stdout.write(text)
  else await writeFile(output, text)
}

export async function planFiles(
  settings: Settings,
  paths: readonly string[],
  options: PlanOptions,
): Promise<number> {
  const client = clientOf(settings)
  const plan = await planOf(client, paths, options)
  if (options.json) print(JSON.stringify(summaryOf(plan)))
  else print(planReport(plan, await lastChanges(client, plan)))
  return plan.differences.length === 0 ? 0 : differs
}

/** Runs that begin again because others change the account. */
const runsMax = 5

export async function applyFiles(
  settings: Settings,
  paths: readonly string[],
  options: ApplyOptions,
): Promise<void> {
  const client = clientOf(settings)
  const done: Difference[] = []
  for (let runs = 1; ; runs += 1) {
    try {
      return await applyOnce(client, paths, options, done)
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
  paths: readonly string[],
  options: ApplyOptions,
  done: Difference[],
): Promise<void> {
  const version = await versionOf(client)
  const plan = await planOf(client, paths, options)
  const before = done.length
  const application = new Application(client, version, {
    tokens: options.tokens,
    done: (difference) => {
      done.push(difference)
      if (!options.json) print(headline(difference))
    },
  })
  try {
    await application.run(plan)
  } catch (error) {
    const left = plan.differences.length + before - done.length
    if (done.length > 0)
      process.stderr.write(`${done.length} differences are done; ${left} are left for the next run.\n`)
    throw error
  }
  if (options.json) print(JSON.stringify(summaryOf(plan)))
  else print(done.length === 0 ? 'Nothing differs.' : `${done.length} differences are done.`)
}

async function planOf(
  client: Client,
  paths: readonly string[],
  { prune = false }: { prune?: boolean },
): Promise<Plan> {
  const files = SourceFiles.read(paths, environment())
  const account = await readAccount(client)
  const { plan, faults } = await new Comparison(client, files).plan(account, { prune })
  if (faults.length > 0) throw new StartFault(faults.join('\n'))
  return plan
}

/** Who made what differs, so that what was done by hand is seen. */
async function lastChanges(client: Client, { differences }: Plan): Promise<LastChanges> {
  const last = new Map<string, Awaited<ReturnType<typeof lastOf>>>()
  const present = differences.flatMap(({ live }) => live ?? [])
  for (const { id } of present.slice(0, 100)) last.set(id, await lastOf(client, id))
  return new Map([...last].flatMap(([id, change]) => (change === undefined ? [] : [[id, change] as const])))
}

async function lastOf(client: Client, id: string) {
  for await (const change of client.changes({ filter: `id == '${id}'`, limit: 1 })) return change
  return undefined
}

const summaryOf = ({ differences, others, unchanged, unchecked }: Plan) => ({
  differences: differences.map(({ action, kind, name, live, fields, parts, refusal }) => ({
    action,
    section: kind.section,
    name,
    id: live?.id ?? null,
    fields,
    parts: parts.counts,
    refusal: refusal ?? null,
  })),
  not_described: others.map(({ kind, name, live }) => ({ section: kind.section, name, id: live.id })),
  unchanged,
  unchecked,
})
