/** Reads `/metrics`. */
import type { TargetKind } from './scenario.js'

export class MetricsPage {
  readonly #samples: readonly { name: string; labels: Readonly<Record<string, string>>; value: number }[]

  constructor(text: string) {
    this.#samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
      ([, name = '', labels = '', value]) => ({
        name,
        labels: Object.fromEntries(
          [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]),
        ),
        value: Number(value),
      }),
    )
  }

  /** The sum of all samples with this name and these labels; 0 if there is none. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels)
    return this.#samples
      .filter(
        (sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value),
      )
      .reduce((total, { value }) => total + value, 0)
  }

  /** The revision of the configuration that all processes of a role use; 0 if they did not say it in time. */
  revisionOf(role: 'pipeline' | 'decide'): number {
    return this.sum('weir_configuration_revision', { role })
  }

  /** Event kinds that were subscribed for a target, even if a filter dropped all. */
  kindsOf(target: TargetKind): string[] {
    const kinds = this.#samples
      .filter(({ labels }) => labels['target'] === target)
      .flatMap(({ labels }) => labels['kind'] ?? [])
    return [...new Set(kinds)].sort()
  }
}

export async function readMetrics(apiUrl: string): Promise<MetricsPage> {
  const response = await fetch(`${apiUrl}/metrics`)
  if (!response.ok) throw new Error(`/metrics answers ${response.status}.`)
  return new MetricsPage(await response.text())
}
