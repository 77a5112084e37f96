/** Bounds of requests of OpenTelemetry: bytes, and what they may be cut into. */

const mebibyte = 1024 * 1024

export const otlpProtobufBytesMax = 16 * mebibyte
/** JSON takes several times as much memory, and is decoded at once. */
export const otlpJsonBytesMax = 2 * mebibyte
/** Objects and lists in JSON; an attribute has two, in fifty bytes. */
export const otlpJsonValuesMax = 150_000
/** Larger log records hold no record: a record has at most 64 KiB. */
export const otlpLogBytesMax = 256 * 1024
/** Resources and scopes: they are decoded at once, and two bytes can become an object of a hundred. */
export const otlpOuterBytesMax = 512 * 1024
/**
 * Attributes of a log record, and values in them and in its body: an attribute and its value are two. SDKs allow 128
 * attributes.
 */
export const otlpValuesMax = 2_000
