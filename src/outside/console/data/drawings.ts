/**
 * Drawings of the pages: paths of SVG on a square of 24, by the page's path. The build puts them here
 * (`config/drawings.mjs`).
 */
export const drawings: Readonly<Record<string, string>> = {}
