/** Security Token Service, with forms and XML: https://docs.aws.amazon.com/STS/latest/APIReference/ */
import { AwsError, constraintBroken } from './aws-error.js'
import { type Call, type Input, type Service, text } from './operation.js'
import { awsAccountId } from './world.js'

const durationSecondsDefault = 3600

function assumeRole(input: Input, { world, accessKeyId }: Call): object {
  const roleArn = checked(input, 'RoleArn', /^arn:[\w-]+:iam::\d{12}:role\/.+$/)
  const sessionName = checked(input, 'RoleSessionName', /^[\w+=,.@-]{2,64}$/)
  const externalId = text(input, 'ExternalId') ?? null
  if (externalId !== null) checked(input, 'ExternalId', /^[\w+=,.@:/-]{2,1224}$/)
  const seconds = Number(text(input, 'DurationSeconds') ?? durationSecondsDefault)
  if (!(seconds >= 900 && seconds <= 43_200)) {
    throw constraintBroken('durationSeconds', 'have value between 900 and 43200', 'ValidationError')
  }
  const role = world.roles.get(roleArn)
  if (role === undefined || (role.externalId !== undefined && role.externalId !== externalId)) {
    const user = `User: arn:aws:iam::${awsAccountId}:user/${accessKeyId}`
    throw new AwsError(
      'AccessDenied',
      `${user} is not authorized to perform: sts:AssumeRole on resource: ${roleArn}`,
      403,
    )
  }
  const [keyId, session] = world.openSession(role, sessionName, externalId, seconds * 1000)
  return {
    Credentials: {
      AccessKeyId: keyId,
      SecretAccessKey: session.secretAccessKey,
      SessionToken: session.sessionToken,
      Expiration: new Date(session.expiresAtMs).toISOString(),
    },
    AssumedRoleUser: {
      AssumedRoleId: `AROAEMULATED:${sessionName}`,
      Arn: assumedRoleArn(roleArn, sessionName),
    },
  }
}

function getCallerIdentity(_input: Input, { world, accessKeyId }: Call): object {
  const session = world.sessions.get(accessKeyId)
  const arn =
    session === undefined
      ? `arn:aws:iam::${awsAccountId}:user/${accessKeyId}`
      : assumedRoleArn(session.roleArn, session.sessionName)
  return { UserId: accessKeyId, Account: awsAccountId, Arn: arn }
}

const assumedRoleArn = (roleArn: string, sessionName: string): string =>
  `${roleArn.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/${sessionName}`

function checked(input: Input, field: string, form: RegExp): string {
  const value = text(input, field) ?? ''
  if (form.test(value)) return value
  const wireName = `${field[0]!.toLowerCase()}${field.slice(1)}`
  throw constraintBroken(wireName, `satisfy regular expression pattern: ${form.source}`, 'ValidationError')
}

export const sts: Service = {
  name: 'sts',
  targetPrefix: '',
  contentType: 'text/xml',
  resourceOf: (input) => text(input, 'RoleArn') ?? '',
  operations: { AssumeRole: assumeRole, GetCallerIdentity: getCallerIdentity },
}

const namespace = 'https://sts.amazonaws.com/doc/2011-06-15/'

export const successXml = (operation: string, result: object, requestId: string): string =>
  `<${operation}Response xmlns="${namespace}"><${operation}Result>${xml(result)}</${operation}Result>` +
  `<ResponseMetadata><RequestId>${requestId}</RequestId></ResponseMetadata></${operation}Response>`

export const errorXml = (error: AwsError, requestId: string): string =>
  `<ErrorResponse xmlns="${namespace}"><Error><Type>Sender</Type><Code>${escaped(error.code)}</Code>` +
  `<Message>${escaped(error.message)}</Message></Error><RequestId>${requestId}</RequestId></ErrorResponse>`

function xml(value: object): string {
  const element = ([name, content]: [string, unknown]): string =>
    `<${name}>${typeof content === 'object' && content !== null ? xml(content) : escaped(String(content))}</${name}>`
  return Object.entries(value).map(element).join('')
}

const escaped = (raw: string): string =>
  raw.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
