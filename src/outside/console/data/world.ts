/** Outlines of countries for a map. The build puts them here (`config/bundle-console.mjs`); without it, there are none. */

export interface World {
  readonly width: number
  readonly height: number
  /** Paths of SVG by ISO 3166-1 alpha-2; the code is empty for what has none. */
  readonly outlines: readonly (readonly [code: string, path: string])[]
}

export const world: World = { width: 2, height: 1, outlines: [] }
