/** A fault of a file that is not one of the operating system's. */
export class FileFault extends Error {
  override readonly name = 'FileFault'
  readonly code: 'Rotated' | 'ShortWrite' | 'NotAFile' | 'NotADirectory' | 'FileSpaceUsed' | 'DiskAlmostFull'

  constructor(code: FileFault['code'], message: string) {
    super(message)
    this.code = code
  }
}
