/**
 * Messages of OTLP (https://opentelemetry.io/docs/specs/otlp/), in both encodings. Loaded when the first one arrives: most
 * deployments get none.
 */
import {
  clone,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import {
  FieldDescriptorProto_Type,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { otlpDescriptors } from './descriptors.js'
import { type Attribute, Attributes, type LogRecord, type OtlpLog } from './log-records.js'
import { otlpLogBytesMax, otlpOuterBytesMax, otlpValuesMax } from './otlp-bounds.js'

const schemas = fromBinary(FileDescriptorSetSchema, otlpDescriptors)
const logsService = 'opentelemetry.proto.collector.logs.v1'

/**
 * The schemas with log records as `bytes`, which are encoded alike: so each record can be decoded by itself, and other
 * requests are served in between. Decoding 8 MiB at once takes a second.
 */
function withEncodedRecords(): FileDescriptorSet {
  const changed = clone(FileDescriptorSetSchema, schemas)
  const fields = changed.file.flatMap(({ messageType }) => messageType.flatMap(({ field }) => field))
  for (const field of fields.filter(
    ({ typeName }) => typeName === '.opentelemetry.proto.logs.v1.LogRecord',
  )) {
    field.type = FieldDescriptorProto_Type.BYTES
    field.typeName = ''
  }
  return changed
}

const registry = createFileRegistry(schemas)
const outerRegistry = createFileRegistry(withEncodedRecords())

function schemaOf(name: string, from = registry): DescMessage {
  const schema = from.getMessage(name)
  if (schema === undefined) throw new Error(`There is no message ${name}.`)
  return schema
}

const outerRequestSchema = schemaOf(`${logsService}.ExportLogsServiceRequest`, outerRegistry)
const recordSchema = schemaOf('opentelemetry.proto.logs.v1.LogRecord')
const responseSchema = schemaOf(`${logsService}.ExportLogsServiceResponse`)
const statusSchema = schemaOf('google.rpc.Status')

/** An `ExportLogsServiceRequest`. */
interface LogsRequest<R> {
  readonly resourceLogs: readonly {
    readonly resource?: { readonly attributes: readonly Attribute[] }
    readonly scopeLogs: readonly {
      readonly scope?: { readonly attributes: readonly Attribute[] }
      readonly logRecords: readonly R[]
    }[]
  }[]
}

/** Throws an error if it is no such message, or would take much memory; `logsMax`: log records, or scopes, or resources. */
export function logsIn(body: Buffer, logsMax: number): readonly OtlpLog[] {
  checkOuter(body, [1, 2, 2], logsMax, { left: otlpOuterBytesMax })
  const request = fromBinary(outerRequestSchema, body) as Message & LogsRequest<Uint8Array>
  return logsOf(request, (bytes) => {
    if (bytes.length > otlpLogBytesMax) throw new Error(`it has more than ${otlpLogBytesMax} bytes`)
    checkValues(bytes, 'log', { left: otlpValuesMax })
    return fromBinary(recordSchema, bytes) as Message & LogRecord
  })
}

/**
 * Throws an error if there are too many messages on a path of fields, or too many bytes around those at its end. It ends
 * where that is clear: a field takes two bytes.
 */
function checkOuter(
  message: Uint8Array,
  [field, ...inner]: readonly number[],
  countMax: number,
  room: { left: number },
): void {
  const reader = new BinaryReader(message)
  let count = 0
  while (reader.pos < reader.len) {
    const start = reader.pos
    const [number, type] = reader.tag()
    let part: Uint8Array | undefined
    if (number === field && type === WireType.LengthDelimited) part = reader.bytes()
    else reader.skip(type, number)
    room.left -= reader.pos - start - (part?.length ?? 0)
    if (room.left < 0) throw new Error(`its resources and scopes have more than ${otlpOuterBytesMax} bytes`)
    if (part === undefined) continue
    count += 1
    if (count > countMax) throw new Error(`it has more than ${countMax} messages in one`)
    if (inner.length > 0) checkOuter(part, inner, countMax, room)
  }
}

/** Members of messages by the number of their field: attributes, which are pairs, and their values. */
const inside = {
  log: { 5: 'value', 6: 'pair' },
  pair: { 2: 'value' },
  value: { 5: 'list', 6: 'map' },
  list: { 1: 'value' },
  map: { 1: 'pair' },
} as const satisfies Readonly<Record<string, Readonly<Record<number, string>>>>

/** Throws an error if a log record has too many attributes and values: each takes two bytes, and a hundred when decoded. */
function checkValues(message: Uint8Array, kind: keyof typeof inside, room: { left: number }): void {
  const reader = new BinaryReader(message)
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    const part = (inside[kind] as Readonly<Record<number, keyof typeof inside | undefined>>)[number]
    if (part === undefined || type !== WireType.LengthDelimited) {
      reader.skip(type, number)
      continue
    }
    room.left -= 1
    if (room.left < 0) throw new Error(`it has more than ${otlpValuesMax} attributes and values`)
    checkValues(reader.bytes(), part, room)
  }
}

const logsOf = <R>({ resourceLogs }: LogsRequest<R>, decode: (record: R) => LogRecord): OtlpLog[] =>
  resourceLogs.flatMap(({ resource, scopeLogs }) => {
    const ofResource = new Attributes(resource?.attributes)
    return scopeLogs.flatMap(({ scope, logRecords }) => {
      const outer = [new Attributes(scope?.attributes), ofResource]
      return logRecords.map((record) => ({ outer, record: () => decode(record) }))
    })
  })

/** Messages as JSON encodes them, in protobuf. */
const encoded = (schema: DescMessage, value: object): Buffer =>
  Buffer.from(toBinary(schema, fromJson(schema, value as JsonValue)))

export const encodedResponse = (response: object): Buffer => encoded(responseSchema, response)

export const encodedStatus = (status: object): Buffer => encoded(statusSchema, status)
