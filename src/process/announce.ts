/** Prints the addresses of the API. */
export function announceApi(url: string): void {
  for (const [name, path] of [
    ['API', ''],
    ['docs', '/docs'],
    ['metrics', '/metrics'],
  ])
    process.stdout.write(`${name}: ${url}${path}\n`)
}
