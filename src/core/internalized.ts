/**
 * The same text as V8 has it for names of members, of which there is one for equal texts: in one place of memory, however
 * many rows were parsed with it. Compared with another of these, it is equal only if it is the same; a slice of a longer
 * text is compared ten times slower.
 */
export const internalized = (text: string): string => Object.keys({ [text]: undefined })[0]!
