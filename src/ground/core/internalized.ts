/**
 * An equal text that V8 internalizes, as it does with names of members (Node 20): there is one of it in memory, however many
 * rows were parsed with this text. Two internalized texts are compared by their addresses; comparing a slice of a longer
 * text takes ten times as long.
 */
export const internalized = (text: string): string => Object.keys({ [text]: undefined })[0]!
