/** A process that writes one entry of its log, as its settings say. */
import { loadSettings } from '../../src/config.js'
import { surroundings } from '../../src/surroundings.js'

surroundings(loadSettings({}).settings, 'decide').logger.error('It failed.')
