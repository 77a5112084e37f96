/**
 * Writes the types of the package's entry points, each as one file that needs nothing else: what the sources compute from
 * the declarations of resources is written out, so neither a consumer's compiler nor its editor has to.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { TypeWriter } from './type-writer.mjs'

/** Entry points of `exports` in package.json, and their sources. */
const entryPoints = {
  client: 'src/words/client/client.ts',
  evaluate: 'src/judging/evaluate/portable/evaluate-anywhere.ts',
}

/**
 * @param {string} root of the package
 * @param {string} directory
 */
export function writeDeclarations(root, directory) {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = Object.values(entryPoints).map((file) => join(root, file))
  const ambient = ts.sys.readDirectory(join(root, 'src'), ['.d.ts'])
  const program = ts.createProgram([...files, ...ambient], { ...options, noEmit: true })
  for (const [name, file] of Object.entries(entryPoints)) {
    const source = program.getSourceFile(join(root, file))
    if (source === undefined) throw new Error(`There is no ${file}.`)
    writeFileSync(join(directory, `${name}.d.ts`), new TypeWriter(program, source).text())
  }
}
