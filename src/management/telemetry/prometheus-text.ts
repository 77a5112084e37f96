/**
 * Reads the text format of Prometheus, as Weir writes it: families with their HELP and TYPE, and no times.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly samples: readonly Sample[]
}

const sampleForm = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const labelForm = /(?<!\w)([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)",?/g
const suffixForm = /_(bucket|sum|count)$/

/** Families in their order. A line that is none of these throws: Weir wrote the text. */
export function familiesIn(text: string): Family[] {
  const families = new Map<string, Family & { readonly samples: Sample[] }>()
  const helps = new Map<string, string>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, comment, name = '', rest = ''] = /^# (HELP|TYPE) (\S+)(?: (.*))?$/s.exec(line) ?? []
    if (comment === 'HELP') helps.set(name, unescaped(rest))
    else if (comment === 'TYPE')
      families.set(name, { name, help: helps.get(name) ?? '', type: rest, samples: [] })
    else {
      const sample = sampleIn(line)
      const family = families.get(sample.name) ?? families.get(sample.name.replace(suffixForm, ''))
      if (family === undefined) throw new Error(`A sample has no family: ${line.slice(0, 200)}`)
      family.samples.push(sample)
    }
  }
  return [...families.values()].filter(({ samples }) => samples.length > 0)
}

function sampleIn(line: string): Sample {
  const [, name, labels = '', value] = sampleForm.exec(line) ?? []
  if (name === undefined || value === undefined)
    throw new Error(`A line of metrics is malformed: ${line.slice(0, 200)}`)
  const pairs = [...labels.matchAll(labelForm)].map(([, label = '', text = '']) => [label, unescaped(text)])
  return { name, labels: Object.fromEntries(pairs), value: numberOf(value) }
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))

const infinities: Readonly<Record<string, number>> = {
  '+Inf': Number.POSITIVE_INFINITY,
  '-Inf': Number.NEGATIVE_INFINITY,
  Nan: Number.NaN,
}

const numberOf = (text: string): number => infinities[text] ?? Number(text)
