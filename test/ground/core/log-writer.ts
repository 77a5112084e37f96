/** A process that writes one entry of its log, as its settings say. */

import { createRoleContext } from '../../../src/management/process/role-context.js'
import { loadSettings } from '../../../src/management/process/settings.js'

createRoleContext(loadSettings({}).settings, 'decide').logger.error('It failed.')
