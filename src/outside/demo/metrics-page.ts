/** Reads `/metrics`. */

export class MetricsPage {
  readonly #samples: readonly RegExpExecArray[]

  constructor(text: string) {
    this.#samples = [...text.matchAll(/^(\w+)(\{.*\})? (\S+)$/gm)]
  }

  /** The sum of all samples with this name, and with this label if one is given; 0 if there is none. */
  sum(name: string, label = ''): number {
    return this.#samples
      .filter(([, each, labels = '']) => each === name && labels.includes(label))
      .reduce((total, [, , , value]) => total + Number(value), 0)
  }

  /** The revision of the configuration that all processes of a role use; 0 if they did not say it in time. */
  revisionOf(role: 'pipeline' | 'decide'): number {
    return this.sum('weir_configuration_revision', `role="${role}"`)
  }
}

export async function readMetrics(apiUrl: string): Promise<MetricsPage> {
  const response = await fetch(`${apiUrl}/metrics`)
  if (!response.ok) throw new Error(`/metrics answers ${response.status}.`)
  return new MetricsPage(await response.text())
}
