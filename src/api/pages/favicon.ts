/** The icon that browsers request: water that flows over a weir, drawn point by point. */

const points = [
  '                ',
  ' wwwwww         ',
  'wwllwwwww       ',
  'wwwwwwwwww      ',
  'wwwwwllwwww     ',
  'wwwwwwwwwww     ',
  'dddddddwwwww    ',
  'dddddddwlwww    ',
  'dddddddwwwww    ',
  'dddddddwwwlw    ',
  'dddddddwwwwwwwww',
  'dddddddwlwwwwwww',
  'dddddddwwwwllwww',
  'dddddddwwwwwwwww',
  'dddddddddddddddd',
  '                ',
]

/** Blue, green, red, opacity. */
const colors: Readonly<Record<string, readonly number[]>> = {
  ' ': [0, 0, 0, 0],
  d: [0x5a, 0x46, 0x3b, 0xff],
  l: [0xff, 0xe3, 0xc4, 0xff],
  w: [0xeb, 0x7d, 0x1f, 0xff],
}

const side = points.length
const bitsPerPoint = 32
/** A mask of one bit per point, required by the format and unused with opacities; its lines are padded to 32 bits. */
const maskBytes = side * 4

/** https://learn.microsoft.com/en-us/previous-versions/ms997538(v=msdn.10) */
export function faviconIco(): Buffer {
  // Lines of a bitmap are stored from the lowest to the highest.
  const picture = Buffer.from([...points].reverse().flatMap((line) => [...line].flatMap(colorOf)))
  const bitmap = Buffer.concat([bitmapHead(), picture, Buffer.alloc(maskBytes)])
  const head = Buffer.alloc(22)
  head.writeUInt16LE(1, 2)
  head.writeUInt16LE(1, 4)
  head.writeUInt8(side, 6)
  head.writeUInt8(side, 7)
  head.writeUInt16LE(1, 10)
  head.writeUInt16LE(bitsPerPoint, 12)
  head.writeUInt32LE(bitmap.length, 14)
  head.writeUInt32LE(head.length, 18)
  return Buffer.concat([head, bitmap])
}

const colorOf = (point: string): readonly number[] => colors[point]!

function bitmapHead(): Buffer {
  const head = Buffer.alloc(40)
  head.writeUInt32LE(head.length, 0)
  head.writeInt32LE(side, 4)
  // The picture and the mask together.
  head.writeInt32LE(side * 2, 8)
  head.writeUInt16LE(1, 12)
  head.writeUInt16LE(bitsPerPoint, 14)
  return head
}
