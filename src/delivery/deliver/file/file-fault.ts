/** A fault of a file that is not one of the operating system's. */
export class FileFault extends Error {
  override readonly name = 'FileFault'
  readonly code: 'Rotated' | 'ShortWrite' | 'NotAFile' | 'NotADirectory' | 'FileSpaceUsed' | 'DiskAlmostFull'

  constructor(code: FileFault['code'], message: string) {
    super(message)
    this.code = code
  }
}

export const notAFile = () => new FileFault('NotAFile', 'The name is that of a directory, a link or a pipe.')
export const notADirectory = () =>
  new FileFault('NotADirectory', "The directory of the account's files is a link or a file.")
