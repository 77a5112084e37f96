/** The configuration of an nginx that a test starts: in the foreground, with all of its files below one directory. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** Makes the directories, too. `http`: what is within its block. */
export function nginxFile(dir: string, http: string): string {
  for (const each of temporary) mkdirSync(join(dir, each), { recursive: true })
  return `daemon off; master_process off; pid pid; error_log error.log;
events {}
http {
${temporary.map((each) => `${each}_temp_path ${each};`).join(' ')}
${http}
}
`
}
