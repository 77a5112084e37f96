/** How the help of commands looks: at most 80 columns, and behind what commander writes, what the guide says. */
import type { Command, HelpConfiguration } from 'commander'
import { exitMeanings } from './exit-codes.js'
import { type Guidance, guide, keyed, operated } from './guide.js'

const columnsMax = 80

/** A terminal that was given no size says that it has 0 columns. */
const widthOf = ({ columns }: { readonly columns?: number }): number =>
  Math.min(columns || columnsMax, columnsMax)

export const helpWidths = {
  getOutHelpWidth: (): number => widthOf(process.stdout),
  getErrHelpWidth: (): number => widthOf(process.stderr),
}

/** A list of commands has their names and arguments alone: options are in the help of each. */
export const helpForm: HelpConfiguration = {
  showGlobalOptions: true,
  subcommandTerm: (command) =>
    [command.name(), ...(command.parent?.parent ? command.registeredArguments.map(argumentText) : [])].join(
      ' ',
    ),
}

type Declared = Command['registeredArguments'][number]

const argumentText = (argument: Declared): string =>
  argument.required ? `<${argument.name()}>` : `[${argument.name()}]`

/** To be called when all commands are declared. */
export function addGuide(program: Command): void {
  program.addHelpText('after', () => `\n${wrapped(program, overview)}`)
  for (const command of commandsBelow(program)) {
    const guidance = guide[pathOf(command)]
    if (guidance !== undefined) command.addHelpText('after', () => `\n${guidanceText(command, guidance)}`)
  }
}

/** All that a person may call, commands of commands included. */
export const commandsBelow = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => command.commands.includes(each))
    .flatMap((each) => [each, ...commandsBelow(each)])

/** `destination status` */
export function pathOf(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name()
}

const overview = [
  `${keyed.join(', ')} use the API with a key: weir login keeps one, or WEIR_API_KEY has it.`,
  `${operated.join(', ')} need no key, but the data directory (WEIR_DATA_DIR).`,
  'weir help <command> shows the options, an example and the documents of one.',
  `Exit codes: ${exitMeanings.map((meaning, code) => `${code} ${meaning}`).join('; ')}.`,
]

function wrapped(command: Command, sentences: readonly string[]): string {
  const help = command.createHelp()
  return sentences.map((sentence) => help.boxWrap(sentence, columnsMax)).join('\n')
}

function guidanceText(command: Command, { example, page, found, differs, access }: Guidance): string {
  const [root = ''] = pathOf(command).split(' ')
  const key = access ?? (keyed.includes(root) ? 'It needs an API key' : undefined)
  const lines = [
    key && `${key}: see weir help login.`,
    operated.includes(root) ? 'It needs the data directory (WEIR_DATA_DIR), but no key.' : undefined,
    found && `Exit code 1: ${found}.`,
    differs && `Exit code 2: ${differs}; or it was called wrongly.`,
    `Documents: ${pathOfPage(page)}`,
  ].filter((line) => line !== undefined)
  return `Example:\n  weir ${example}\n\n${wrapped(command, lines)}`
}

/** From the root of the package, where the pages are installed, too. */
export const pathOfPage = (page: string): string => (page.startsWith('README.md') ? page : `docs/${page}`)
