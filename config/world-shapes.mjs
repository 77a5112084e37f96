/** The world map of the console: the outlines of countries, projected and rounded when the console is built. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

/** In units of the picture, to which outlines are rounded: some pixels of a screen. */
const size = { width: 960, height: 470 }

/** No address is there, and it takes a quarter of the picture. */
const leftOut = new Set(['AQ'])

/**
 * Outlines as paths of SVG by ISO 3166-1 alpha-2. What has no code there (Kosovo, Northern Cyprus, Somaliland) is drawn
 * without one.
 *
 * @returns {Promise<{ width: number, height: number, outlines: [code: string, path: string][] }>}
 */
export async function worldShapes() {
  const [{ geoNaturalEarth1, geoPath }, { feature }, { default: countries }] = await Promise.all([
    import('d3-geo'),
    import('topojson-client'),
    import('i18n-iso-countries'),
  ])
  const atlas = createRequire(import.meta.url).resolve('world-atlas/countries-50m.json')
  const topology = JSON.parse(readFileSync(atlas, 'utf8'))
  /** @type {{ type: 'FeatureCollection', features: any[] }} */
  const all = feature(topology, topology.objects.countries)
  const features = all.features
    .map((each) => ({
      ...each,
      code: each.id === undefined ? '' : (countries.numericToAlpha2(each.id) ?? ''),
    }))
    .filter(({ code }) => !leftOut.has(code))
  const shown = /** @type {any} */ ({ type: 'FeatureCollection', features })
  const projection = geoNaturalEarth1().fitSize([size.width, size.height], shown)
  const path = geoPath(projection).digits(1)
  return { ...size, outlines: features.map((each) => [each.code, shorter(path(each) ?? '')]) }
}

/** The same path with steps from each point to the next, which makes it a third shorter once it is compressed. */
const shorter = (/** @type {string} */ path) =>
  path
    .split(/(?=M)/)
    .map((ring) => {
      const points = ring
        .replace(/[MZ]/g, '')
        .split('L')
        .map((point) => point.split(',').map((text) => Math.round(Number(text))))
      const steps = points.slice(1).flatMap(([x = 0, y = 0], index) => {
        const [beforeX = 0, beforeY = 0] = points[index] ?? []
        const step = [x - beforeX, y - beforeY]
        return step[0] === 0 && step[1] === 0 ? [] : [step.join(' ')]
      })
      // An island that is smaller than a dot stays a dot.
      return `M${points[0]?.join(' ')}l${steps.join(' ') || '1 0 0 1'}z`
    })
    .join('')
