/** A process that writes one entry of its log, as its settings say. */
import { loadSettings } from '../../src/process/settings.js'
import { surroundings } from '../../src/process/surroundings.js'

surroundings(loadSettings({}).settings, 'decide').logger.error('It failed.')
