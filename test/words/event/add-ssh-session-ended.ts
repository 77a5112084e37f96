/** Loaded before a program of Weir, by `node --import`: the line that a new kind adds to `event/catalog.ts`. */
import { trafficEvents } from '../../../src/words/event/catalog.js'
import { sshSessionEnded } from './ssh-session-ended.js'

trafficEvents.push(sshSessionEnded)
