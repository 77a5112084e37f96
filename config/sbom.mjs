/**
 * Lists all that is shipped and comes from others, in the form of CycloneDX: packages of npm, also those whose code or data is
 * in the built pages, and the `nats-server` that the packages bring, with its modules.
 *
 *     node config/sbom.mjs [FILE]
 *
 * Writes to standard output if no file is named. Two lists of one commit are equal.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { argv, env, exit, stderr, stdout } from 'node:process'
import { fileURLToPath } from 'node:url'
import { builtFrom } from './built-from.mjs'
import { goBuildInfo } from './go-build-info.mjs'
import { ownNatsServer } from './provide-nats-server.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Packages that are needed to build, and whose data is shipped: `config/asn-database.mjs`, `drawings`, `world-shapes`. */
const ofData = ['@ip-location-db/asn', 'heroicons', 'i18n-iso-countries', 'world-atlas']

/**
 * @typedef {{ 'bom-ref': string, name: string, scope?: string, properties?: { name: string }[] }} Component
 * @typedef {{ ref: string, dependsOn: string[] }} Dependency
 * @typedef {{ metadata: { component: Component, timestamp?: string }, serialNumber?: string,
 *   components: Component[], dependencies: Dependency[] }} Bom
 */

/** Packages that pages import are in their bundles. */
function shippedNames() {
  const texts = ['src/outside/console', 'src/outside/playground', 'src/outside/reference'].flatMap((dir) =>
    readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => readFileSync(join(root, dir, name), 'utf8')),
  )
  const imported = (/** @type {string} */ name) =>
    texts.some((text) => text.includes(`'${name}'`) || text.includes(`'${name}/`))
  const bundled = Object.keys(own.devDependencies).filter(imported)
  return [...Object.keys(own.dependencies), ...Object.keys(own.optionalDependencies), ...bundled, ...ofData]
}

/** Of the lock file, so that it does not depend on the machine. */
function ofNpm() {
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  /** @type {Bom} */
  const bom = JSON.parse(execFileSync('npm', words, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }))
  const names = shippedNames()
  const top = bom.dependencies.find(({ ref }) => ref === bom.metadata.component['bom-ref'])?.dependsOn ?? []
  const shipped = reachedFrom(
    top.filter((ref) => names.includes(ref.slice(0, ref.lastIndexOf('@')))),
    bom.dependencies,
  )
  const components = bom.components.filter(({ 'bom-ref': ref }) => shipped.has(ref)).map(asShipped)
  return { bom, components, dependencies: bom.dependencies.filter(({ ref }) => shipped.has(ref)) }
}

/**
 * @param {readonly string[]} start
 * @param {readonly Dependency[]} dependencies
 */
function reachedFrom(start, dependencies) {
  const known = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  /** @type {Set<string>} */
  const reached = new Set(start)
  for (const ref of reached) for (const next of known.get(ref) ?? []) reached.add(next)
  return reached
}

/**
 * That a package is not installed with Weir does not mean that it is not shipped: its code may be in a bundle.
 *
 * @param {Component} component
 * @returns {Component}
 */
function asShipped({ properties = [], ...component }) {
  const isBundled = properties.some(({ name }) => name === 'cdx:npm:package:development')
  return { ...component, ...(isBundled && { scope: 'required' }) }
}

/** The server, its modules, and the library of Go. */
function ofNatsServer() {
  const found = ownNatsServer(env, (line) => stderr.write(`weir: ${line}\n`))
  if ('reason' in found) {
    stderr.write(`weir: There is no nats-server to list: ${found.reason}.\n`)
    return exit(1)
  }
  const { goVersion, main, modules } = goBuildInfo(readFileSync(found.program))
  const library = { path: 'stdlib', version: goVersion.replace(/^go/, ''), sum: '' }
  const server = { ...goComponent(main), type: 'application', name: 'nats-server' }
  const parts = [...modules, library].map(goComponent)
  const refs = parts.map((part) => part['bom-ref'])
  return {
    server,
    components: [server, ...parts],
    dependencies: [
      { ref: server['bom-ref'], dependsOn: refs },
      ...refs.map((ref) => ({ ref, dependsOn: /** @type {string[]} */ ([]) })),
    ],
  }
}

/** @param {import('./go-build-info.mjs').GoModule} module */
function goComponent({ path, version, sum }) {
  const purl = `pkg:golang/${path === 'stdlib' ? 'stdlib' : path}@${version}`
  const content = Buffer.from(sum.replace(/^h1:/, ''), 'base64').toString('hex')
  return {
    'bom-ref': purl,
    type: 'library',
    name: path,
    version,
    scope: 'required',
    purl,
    ...(sum !== '' && { hashes: [{ alg: 'SHA-256', content }] }),
  }
}

function list() {
  const npm = ofNpm()
  const nats = ofNatsServer()
  const { bom } = npm
  const component = { ...bom.metadata.component, type: 'application', name: own.name }
  const day = builtFrom(root, env.BUILT_FROM)?.day
  const { serialNumber, ...rest } = bom
  return {
    ...rest,
    // npm draws a number and takes the time: a list would never be equal to another.
    metadata: { ...bom.metadata, timestamp: day === undefined ? undefined : `${day}T00:00:00Z`, component },
    components: [...npm.components, ...nats.components],
    dependencies: [
      {
        ref: component['bom-ref'],
        dependsOn: [
          ...(bom.dependencies.find(({ ref }) => ref === component['bom-ref'])?.dependsOn ?? []).filter(
            (ref) => npm.components.some((each) => each['bom-ref'] === ref),
          ),
          nats.server['bom-ref'],
        ],
      },
      ...npm.dependencies,
      ...nats.dependencies,
    ],
  }
}

const text = `${JSON.stringify(list(), null, 2)}\n`
const [, , file] = argv
if (file === undefined) stdout.write(text)
else writeFileSync(file, text)
