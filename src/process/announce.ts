/** Prints where proxies ask for decisions. */
export function announceDecisions(url: string): void {
  process.stdout.write(`decisions: ${url}/decide\n`)
}

/** Prints the addresses of the API. */
export function announceApi(url: string): void {
  process.stdout.write(`API: ${url}\ndocs: ${url}/docs\nmetrics: ${url}/metrics\n`)
}
