/**
 * The options of Node for a process that Weir forks: stack traces name the lines of the sources if they do so here.
 * Reading the source maps costs about a sixth of a role's start.
 */
export const forkOptions = (): string[] => (process.sourceMapsEnabled ? ['--enable-source-maps'] : [])
