/** The default metrics of prom-client 15.1, one by one; the package is pinned to that version. */

declare module 'prom-client/lib/metrics/*.js' {
  import type { Registry } from 'prom-client'

  const addMetric: (registry: Registry, config: object) => void
  export = addMetric
}
