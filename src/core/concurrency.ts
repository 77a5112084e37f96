/** Works on many things at once, but not on all of them. */
export async function eachOf<T>(
  items: Iterable<T>,
  atOnceMax: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const worker = async (): Promise<void> => {
    for (let next = waiting.next(); !next.done; next = waiting.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnceMax }, worker))
}
