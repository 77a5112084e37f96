/** How every event begins, as JSON and as a template, in which a tab stands for a part of the id. */
const kindForm = /^\{"event_id":"[^"]*","event_type":"([^"]*)"/

/** The kind of an event or of the events of a template, from its first bytes. */
export const kindIn = (text: string): string => kindForm.exec(text)?.[1] ?? unknownKind

export const unknownKind = 'unknown'
