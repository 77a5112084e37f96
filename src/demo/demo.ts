export async function runDemo(
  _options: { once?: boolean; records?: string },
  _module: string,
): Promise<void> {
  throw new Error('The demo is being written.')
}
