/** Reads the page of metrics. */

/** The sum of a counter over all series, or over those whose labels contain `labels`. */
export function total(metrics: string, name: string, labels = ''): number {
  const lines = metrics.split('\n').filter((line) => line.startsWith(name) && line.includes(labels))
  return lines
    .filter((line) => /^[a-z_]+(\{.*\})? [\d.e+]+$/.test(line) && /^[a-z_]+/.exec(line)![0] === name)
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}
