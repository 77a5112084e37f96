/** CrowdSec itself, if it is there: its local API with decisions, without detection and without the central API. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from './free-ports.js'
import { optionalProgram } from './optional-program.js'
import { tempDir } from './temp-dir.js'

/** In Debian's package of this name. */
export const crowdsecProgram = optionalProgram('crowdsec', 'crowdsec/usr/bin/crowdsec')

interface Test {
  teardown(close: () => unknown): void
}

interface Crowdsec {
  readonly url: string
  /** Of a bouncer. */
  readonly key: string
  cscli(...args: string[]): string
}

const startsMax = 100

export async function startCrowdsec(t: Test, program: string): Promise<Crowdsec> {
  const dir = tempDir(t)
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const config = join(dir, 'config.yaml')
  for (const name of ['etc', 'data', 'hub']) mkdirSync(join(dir, name))
  writeFileSync(join(dir, 'hub', 'index.json'), '{}')
  for (const name of ['simulation', 'console', 'profiles'])
    writeFileSync(join(dir, 'etc', `${name}.yaml`), '')
  writeFileSync(join(dir, 'etc', 'profiles.yaml'), profile)
  writeFileSync(join(dir, 'etc', 'simulation.yaml'), 'simulation: false\n')
  writeFileSync(join(dir, 'etc', 'credentials.yaml'), '')
  writeFileSync(config, JSON.stringify(configIn(dir, port!)))
  const cscli = (...args: string[]): string =>
    execFileSync(join(dirname(program), 'cscli'), ['-c', config, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  cscli('machines', 'add', '-a', '--force', '-f', join(dir, 'etc', 'credentials.yaml'))
  const key = cscli('bouncers', 'add', 'weir', '-o', 'raw').trim()
  const running = spawn(program, ['-c', config, '-no-cs'], { stdio: 'ignore' })
  t.teardown(async () => {
    running.kill('SIGKILL')
    if (running.exitCode === null && running.signalCode === null) await once(running, 'exit')
  })
  for (let tries = 0; !(await answers(url)); tries += 1) {
    if (tries === startsMax) throw new Error('CrowdSec does not start.')
    await sleep(100)
  }
  return { url, key, cscli }
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  )

const profile = `name: ban
filters: [Alert.GetScope() == "Ip"]
decisions: [{type: ban, duration: 4h}]
`

/** JSON is YAML, too. */
const configIn = (dir: string, port: number): object => ({
  common: { daemonize: false, log_media: 'stdout', log_level: 'error', working_dir: '.' },
  config_paths: {
    config_dir: `${dir}/etc/`,
    data_dir: `${dir}/data/`,
    simulation_path: `${dir}/etc/simulation.yaml`,
    hub_dir: `${dir}/hub/`,
    index_path: `${dir}/hub/index.json`,
    notification_dir: `${dir}/etc/`,
    plugin_dir: `${dir}/etc/`,
  },
  cscli: { output: 'human' },
  db_config: { log_level: 'error', type: 'sqlite', db_path: `${dir}/data/crowdsec.db` },
  api: {
    client: { insecure_skip_verify: false, credentials_path: `${dir}/etc/credentials.yaml` },
    server: {
      log_level: 'error',
      listen_uri: `127.0.0.1:${port}`,
      profiles_path: `${dir}/etc/profiles.yaml`,
      console_path: `${dir}/etc/console.yaml`,
    },
  },
  prometheus: { enabled: false },
})
