/** Makes a failing input smaller, as long as it fails in the same way. */

const msMax = 10_000

/** `fails`: does this one fail like the first one? */
export async function smaller(input: Buffer, fails: (input: Buffer) => Promise<boolean>): Promise<Buffer> {
  const until = performance.now() + msMax
  let left = input
  let isSmaller = true
  while (isSmaller && performance.now() < until) {
    isSmaller = false
    for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < left.length && performance.now() < until; ) {
        const without = Buffer.concat([left.subarray(0, from), left.subarray(from + size)])
        if (await fails(without)) {
          left = without
          isSmaller = true
        } else from += size
      }
    }
  }
  return plainer(left, fails, until)
}

/** Bytes that do not matter become `a`. */
async function plainer(
  input: Buffer,
  fails: (input: Buffer) => Promise<boolean>,
  until: number,
): Promise<Buffer> {
  const left = Buffer.from(input)
  for (let at = 0; at < left.length && performance.now() < until; at += 1) {
    const byte = left[at]!
    if (byte === 0x61) continue
    left[at] = 0x61
    if (!(await fails(left))) left[at] = byte
  }
  return left
}
