/** The shipped files: those of the image, by the COPY lines of the Dockerfile, and those of the package. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Instructions of the Dockerfile, each on one line. */
const instructions = readFileSync('Dockerfile', 'utf8')
  .replaceAll(/^#.*$/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => {
    const [word = '', ...rest] = line.split(/\s+/)
    return { word, rest, line }
  })

/** Those of the last stage make the image. */
const lastStage = instructions.slice(instructions.map(({ word }) => word).lastIndexOf('FROM'))

export const instruction = (word: string): string =>
  lastStage.find((each) => each.word === word)?.line.slice(word.length + 1) ?? ''

interface Copied {
  /** The stage or image that it is taken from; `undefined`: this checkout. */
  readonly from: string | undefined
  readonly sources: readonly string[]
  readonly to: string
}

const copied = (all: typeof instructions): readonly Copied[] =>
  all
    .filter(({ word }) => word === 'COPY')
    .map(({ rest }) => {
      const from = rest.find((each) => each.startsWith('--from='))?.slice('--from='.length)
      const paths = rest.filter((each) => !each.startsWith('--'))
      return { from, sources: paths.slice(0, -1), to: paths.at(-1) ?? '' }
    })

/** The directory of the build and of the image. */
const workDir = '/weir'

const copiedToImage = copied(lastStage)
export const copiedToBuild = copied(instructions.filter((each) => !lastStage.includes(each)))

/** A path as it is in this checkout, which is built like the image. */
const here = ({ from }: Copied, source: string): string =>
  from === 'build' ? relative(workDir, source) : source

const filesOf = (path: string): string[] =>
  statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))

/** Files below the image's working directory, without those of packages. */
export const imageFiles = (): readonly string[] =>
  copiedToImage
    .filter(({ from }) => from === undefined || from === 'build')
    .flatMap((each) => each.sources.map((source) => here(each, source)))
    .filter((path) => path !== 'node_modules' && existsSync(path))
    .flatMap(filesOf)

/** Programs on the PATH of the image, and where they are; those of Node come with its base image. */
export const imagePrograms = (): ReadonlyMap<string, string | undefined> => {
  const links = [...instruction('RUN').matchAll(/ln -s \/weir\/(\S+) \/usr\/local\/bin\/(\S+)/g)]
  const foreign = copiedToImage.filter(({ to }) => to.startsWith('/usr/local/bin/'))
  return new Map([
    ...links.map(([, file = '', name = '']) => [name, file] as const),
    ...foreign.map(({ to }) => [to.slice('/usr/local/bin/'.length), undefined] as const),
    ['node', undefined],
  ])
}

interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** Packs the package; its programs are built already. */
export function pack(destination: string): Packed {
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination]
  const [packed] = JSON.parse(execFileSync('npm', words, { encoding: 'utf8' })) as [Packed]
  return packed
}
