/** An nginx that a test starts: in the foreground, with all of its files below one directory. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** Writes its configuration; returns the arguments that it is started with. `http`: what is within its block. */
export function configuredNginx(dir: string, http: string): string[] {
  for (const each of temporary) mkdirSync(join(dir, each), { recursive: true })
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; master_process off; pid pid; error_log error.log;
events { worker_connections 1024; }
http {
${temporary.map((each) => `${each}_temp_path ${each};`).join(' ')}
${http}
}
`,
  )
  return ['-p', dir, '-c', 'nginx.conf', '-e', 'error.log']
}
