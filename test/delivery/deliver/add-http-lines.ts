/** For `node --import` before a program of Weir: adds a kind, like a line in `deliver/kinds.ts`. */
import { destinationKinds } from '../../../src/delivery/deliver/kinds.js'
import { httpLines } from './http-lines.js'

destinationKinds.push(httpLines)
