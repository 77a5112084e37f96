/** Takes the place of `console/data/resources/resource-names.ts`: there is no account, so an id is all that is known. */
import type { nameOf as nameInConsole } from '../console/data/resources/resource-names.js'

export const nameOf: typeof nameInConsole = (id) => ({ text: id, path: undefined })
