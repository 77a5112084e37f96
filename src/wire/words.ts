/** Words that are numbers on the wire. */

/** The words of an enumeration by the numbers that stand for them in rows. */
export const wordsByNumber = <Word extends string>(
  numbers: Readonly<Record<Word, number>>,
): ReadonlyMap<number, Word> => new Map((Object.keys(numbers) as Word[]).map((word) => [numbers[word], word]))
