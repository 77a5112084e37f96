/** The programs `helm` and `kubeconform`, and the chart of the repository as they see it. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { goProgram } from './go-program.js'
import { writeSchemas } from './kubernetes-schemas.js'
import { tempDir } from './temp-dir.js'

const sources = 'test/harness/kubernetes-tools'
const chart = 'config/helm'

/** An object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  // biome-ignore lint/suspicious/noExplicitAny: tests walk through objects of any kind.
  readonly [member: string]: any
}

export const helmProgram = () => goProgram(sources, 'helm.sh/helm/v4/cmd/helm')
const kubeconformProgram = () => goProgram(sources, 'github.com/yannh/kubeconform/cmd/kubeconform')

export const manifestsIn = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export class Helm {
  readonly #program: string
  readonly #dir: string

  constructor(t: Test, program: string) {
    this.#program = program
    this.#dir = tempDir(t)
  }

  /** Runs it with values of the chart, as a release `weir` in the namespace `weir`. */
  run(words: readonly string[], values: object): Ran {
    const file = join(this.#dir, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    // It keeps nothing outside of the directory of the test.
    const env = { PATH: process.env['PATH'], HOME: this.#dir }
    const all = [...words, '--namespace', 'weir', '--values', file]
    return spawnSync(this.#program, all, { encoding: 'utf8', env })
  }

  lint = (values: object): Ran => this.run(['lint', '--strict', chart], values)

  /** The text of all objects. Throws the message if it makes none. */
  template(values: object, ...more: readonly string[]): string {
    const { status, stdout, stderr } = this.run(['template', 'weir', chart, ...more], values)
    if (status !== 0) throw new Error(stderr)
    return stdout
  }

  /** What an installation prints. */
  notes(values: object): string {
    const { stdout, stderr } = this.run(['install', 'weir', chart, '--dry-run=client'], values)
    return stdout.split('\nNOTES:\n')[1] ?? stderr
  }

  manifests = (values: object): Manifest[] => manifestsIn(this.template(values))
}

/** Undefined if everything fits its schema, which is checked strictly; else what does not. */
type Conforms = (manifests: string) => string | undefined

/** What compares objects with the schemas of Kubernetes and of what extends it, or why there is nothing to do so. */
export function openConforms(t: Test): { readonly conforms: Conforms } | { readonly missing: string } {
  const found = kubeconformProgram()
  if ('missing' in found) return found
  const dir = tempDir(t)
  const written = writeSchemas(dir)
  if (written !== undefined) return written
  const location = join(dir, '{{.Group}}', '{{.ResourceKind}}-{{.ResourceAPIVersion}}.json')
  const words = ['-strict', '-summary', '-output', 'json', '-schema-location', location]
  return {
    conforms(input) {
      const { status, stdout, stderr } = spawnSync(found.program, words, { input, encoding: 'utf8' })
      return status === 0 ? undefined : stdout + stderr
    },
  }
}
