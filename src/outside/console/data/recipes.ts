/**
 * Texts that people paste into their programs, by the marks of `docs/recipes`. The build puts them here
 * (`config/bundle-console.mjs`).
 */

export const recipes: Readonly<Record<string, string>> = {}
