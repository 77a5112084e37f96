/** The text of rows, as `insert` sends it. */
import { yieldTurn } from '../../core/clock.js'

/** Rows turned into text without a pause, which takes some milliseconds. */
const rowsPerText = 500

/** Rows as JSONCompactEachRow, with pauses, so that very many do not block the event loop. */
export async function inTexts(rows: Iterable<object>) {
  const texts: string[] = []
  let columns: readonly string[] = []
  let count = 0
  let text = ''
  for (const row of rows) {
    if (count === 0) columns = Object.keys(row)
    text += `${JSON.stringify(Object.values(row))}\n`
    count += 1
    if (count % rowsPerText !== 0) continue
    texts.push(text)
    text = ''
    await yieldTurn()
  }
  if (text !== '') texts.push(text)
  return { columns, texts, count }
}
