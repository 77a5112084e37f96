/** The text of the metrics, read again. */
import fc from 'fast-check'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import t from 'tap'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { metricsIn } from '../../../src/management/telemetry/exported-metrics.js'
import { familiesIn } from '../../../src/management/telemetry/prometheus-text.js'

const label = fc.string({ unit: 'grapheme', maxLength: 20 })
const value = fc.double({ noNaN: true, min: -1e12, max: 1e12 })

t.test('labels and values of any form are read as they were written', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(label, { maxLength: 8 }), value, async (labels, level) => {
      const registry = new Registry()
      const gauge = new Gauge({
        name: 'a_gauge',
        help: 'With a \\ and\na line.',
        labelNames: ['of'],
        registers: [registry],
      })
      for (const [index, of] of labels.entries()) gauge.set({ of }, level + index)
      const [family] = familiesIn(await metricsText(registry))
      if (labels.length === 0) return family === undefined
      if (family?.help !== 'With a \\ and\na line.') return false
      return labels.every(
        (of, index) =>
          family.samples[index]?.labels['of'] === of && family.samples[index]?.value === level + index,
      )
    }),
    { seed: 1 },
  )
  t.pass('100 registries')
})

t.test('a histogram has what is between two bounds', async (t) => {
  const registry = new Registry()
  const options = {
    name: 'a_time_seconds',
    help: 'Time.',
    labelNames: ['route'],
    buckets: [1, 5],
    registers: [registry],
  }
  const histogram = new Histogram(options)
  for (const seconds of [0.5, 1, 2, 9]) histogram.observe({ route: '/a' }, seconds)
  histogram.observe({ route: '/b' }, 3)
  const [metric] = metricsIn(await metricsText(registry), [1, 0], [2, 0])
  t.match(metric, {
    descriptor: { name: 'a_time_seconds', unit: 's', description: 'Time.' },
    dataPoints: [
      {
        attributes: { route: '/a' },
        value: { buckets: { boundaries: [1, 5], counts: [2, 1, 1] }, sum: 12.5, count: 4 },
      },
      {
        attributes: { route: '/b' },
        value: { buckets: { boundaries: [1, 5], counts: [0, 1, 0] }, sum: 3, count: 1 },
      },
    ],
  })
})

t.test('a counter is a sum that only grows, and keeps its name', async (t) => {
  const registry = new Registry()
  new Counter({ name: 'bytes_in_bytes_total', help: 'Bytes.', registers: [registry] }).inc(3)
  const [metric] = metricsIn(await metricsText(registry), [1, 0], [2, 0])
  t.match(metric, {
    descriptor: { name: 'bytes_in_bytes_total', unit: 'By' },
    isMonotonic: true,
    dataPoints: [{ value: 3, startTime: [1, 0], endTime: [2, 0] }],
  })
})

t.test('all metrics of a process are read', async (t) => {
  const text = await metricsText(createRegistry())
  const samples = familiesIn(text).flatMap((family) => family.samples)
  t.equal(samples.length, text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length)
})

t.test('what is no text of metrics is refused, with the line', (t) => {
  t.throws(() => familiesIn('# TYPE a gauge\na one two\n'), /malformed: a one two/)
  t.throws(() => familiesIn('a 1\n'), /no family: a 1/)
  t.end()
})
