/** Two pictures, compared pixel by pixel by the browser that made them. */
import type { Page } from 'playwright-core'

interface Difference {
  /** How many pixels differ; all, if the sizes do. */
  readonly pixels: number
  /** A picture of these, as PNG. */
  readonly picture: Buffer
}

/** Smaller differences of a color are those of how letters are smoothed. */
const colorDifferenceMin = 24

const compare = `async ([before, after]) => {
  const read = async (bytes) => createImageBitmap(await (await fetch('data:image/png;base64,' + bytes)).blob())
  const images = [await read(before), await read(after)]
  const width = Math.max(...images.map((image) => image.width))
  const height = Math.max(...images.map((image) => image.height))
  const [one, other] = images.map((image) => {
    const context = new OffscreenCanvas(width, height).getContext('2d')
    context.drawImage(image, 0, 0)
    return context.getImageData(0, 0, width, height).data
  })
  const shown = new ImageData(width, height)
  let pixels = 0
  for (let at = 0; at < one.length; at += 4) {
    const by = Math.max(...[0, 1, 2, 3].map((part) => Math.abs(one[at + part] - other[at + part])))
    const differs = by > ${colorDifferenceMin}
    if (differs) pixels += 1
    shown.data.set(differs ? [220, 0, 60, 255] : [...other.subarray(at, at + 3), 60], at)
  }
  const canvas = new OffscreenCanvas(width, height)
  canvas.getContext('2d').putImageData(shown, 0, 0)
  const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())
  let text = ''
  for (let from = 0; from < bytes.length; from += 30000) text += String.fromCharCode(...bytes.subarray(from, from + 30000))
  return { pixels, picture: btoa(text) }
}`

/** `page`: an empty one, whose policy allows it. Undefined: they are the same. */
export async function differenceOf(
  page: Page,
  before: Buffer,
  after: Buffer,
): Promise<Difference | undefined> {
  if (before.equals(after)) return undefined
  const given = JSON.stringify([before.toString('base64'), after.toString('base64')])
  const { pixels, picture } = await page.evaluate<{ pixels: number; picture: string }>(
    `(${compare})(${given})`,
  )
  return pixels === 0 ? undefined : { pixels, picture: Buffer.from(picture, 'base64') }
}
