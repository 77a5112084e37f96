/** The addresses that a person who starts the API is shown. */
export function announceApi(url: string): void {
  for (const [name, path] of [
    ['API', ''],
    ['docs', '/docs'],
    ['metrics', '/metrics'],
  ])
    process.stdout.write(`${name}: ${url}${path}\n`)
}
