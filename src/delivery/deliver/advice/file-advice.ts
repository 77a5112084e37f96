/** Advice for files, on the machine that delivers. */
import type { KindAdvice } from '../kind/advice.js'

const full =
  'The disk is full, or nearly, or it has no inodes left (df -i). Make room on it: events are written as soon as there is some.'
const permission =
  'The process that delivers may not write there. Give its user the right to write in the directory of WEIR_FILE_DIRECTORY.'
const notAFile = 'The name is that of a directory, a link or a pipe. Choose another name, or remove it.'

export const fileAdvice: KindAdvice = {
  throttle: { any: 'The disk accepts fewer events than there are. Look at its load.' },
  transient: {
    any: 'The file cannot be written at present. Look at the disk, and at the log of the machine that delivers.',
    ENOSPC: full,
    DiskAlmostFull: full,
    ShortWrite: full,
    EDQUOT: 'The quota of the disk is used up. Raise it, or make room.',
    FileSpaceUsed:
      'The files of the account have used up their space. Delete some, keep fewer rotated ones (keep), or let the operator raise WEIR_FILE_MAX.',
    EIO: 'The disk reports errors. Look at the log of the machine, and replace the disk.',
    ESTALE: 'The network file system has lost the file. Look whether its server is up.',
    EMFILE: 'The process has too many open files. Raise its limit (ulimit -n).',
    ENFILE: 'The machine has too many open files. Raise its limit.',
    Timeout:
      'The disk does not answer in time. Look at its load, and at the server of a network file system.',
  },
  credentials: { any: permission },
  configuration: {
    any: 'The file cannot be written as it is. Look at the error, at the name, and at the directory of WEIR_FILE_DIRECTORY.',
    EACCES: permission,
    EPERM: permission,
    EROFS: 'The directory of WEIR_FILE_DIRECTORY can only be read. Mount its disk for writing.',
    ENOENT: 'The directory of WEIR_FILE_DIRECTORY does not exist. Make it, or mount its disk.',
    ENOTDIR: 'A part of the path of WEIR_FILE_DIRECTORY is no directory. Correct it.',
    EISDIR: notAFile,
    ELOOP: notAFile,
    NotAFile: notAFile,
    NotADirectory:
      "The directory of the account's files is a link or a file. Remove it: Weir makes a directory.",
  },
  poison: { any: 'The events cannot be written. Look at the error and at the dead letters.' },
}
