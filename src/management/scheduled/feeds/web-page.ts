/** A server that has no list often answers with a page that says so, and with status 200. */

/** Behind the mark of UTF-8, too. */
const pageForm = /^(?:\xef\xbb\xbf)?\s*<(?:!doctype|!--|html|head|body|\?xml)/i
const pageBeginBytes = 256

export const isWebPage = (bytes: Buffer): boolean =>
  pageForm.test(bytes.toString('latin1', 0, pageBeginBytes))

export const webPageMessage = 'The answer is a web page (HTML or XML), not a list.'
