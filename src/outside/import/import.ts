/**
 * Start here: the systems that an account can be imported from. An importer is given their answers; it makes resources and
 * says for each item what became of it. The room knows nothing of files but how to read them, and writes none.
 */
import { askCloudflare, importCloudflareLists } from './cloudflare-lists.js'
import { askCrowdsec, importCrowdsec } from './crowdsec.js'
import { type Imported, type ImportOptions, ImportRun } from './draft/import-run.js'
import type { Document } from './input/document.js'
import type { RemoteApi } from './input/remote-api.js'
import { askNgrok, importNgrok } from './ngrok/ngrok.js'
import { askOutpost, importOutpost } from './outpost.js'

export interface ImportedSystem {
  /** The variable of the environment with the key of its API. */
  readonly keyVariable: string
  readonly headersFor: (key: string) => Readonly<Record<string, string>>
  /** Asks its API for everything that is read. */
  readonly ask: (api: RemoteApi) => AsyncIterable<Document>
  readonly read: (documents: readonly Document[], run: ImportRun) => void
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

export const importedSystems: Readonly<Record<string, ImportedSystem>> = {
  ngrok: {
    keyVariable: 'NGROK_API_KEY',
    headersFor: (key) => ({ ...bearer(key), 'ngrok-version': '2' }),
    ask: askNgrok,
    read: importNgrok,
  },
  crowdsec: {
    keyVariable: 'CROWDSEC_API_KEY',
    headersFor: (key) => ({ 'x-api-key': key }),
    ask: askCrowdsec,
    read: importCrowdsec,
  },
  'cloudflare-lists': {
    keyVariable: 'CLOUDFLARE_API_TOKEN',
    headersFor: bearer,
    ask: askCloudflare,
    read: importCloudflareLists,
  },
  outpost: { keyVariable: 'OUTPOST_API_KEY', headersFor: bearer, ask: askOutpost, read: importOutpost },
}

export function imported(
  system: ImportedSystem,
  documents: readonly Document[],
  options: ImportOptions,
): Imported {
  const run = new ImportRun(options)
  system.read(documents, run)
  return run.finish()
}
