/**
 * The vocabulary that completes an expression: every name and function. The build puts it here
 * (`config/bundle-playground.mjs`).
 */
import type { Vocabulary } from '../console/data/asking/completion.js'

export const vocabulary: Vocabulary = { names: [], functions: [] }
