/** Loaded before a program of Weir, by `node --import`: the line that a new kind adds to `deliver/kinds.ts`. */
import { destinationKinds } from '../../src/deliver/kinds.js'
import { httpLines } from './http-lines.js'

destinationKinds.push(httpLines)
