/**
 * Signature Version 4, checked as strictly as AWS does. Written without `@smithy/signature-v4`: the clients sign with it, and
 * a check that shares its code would accept its faults.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
import { createHash, createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { AwsError } from './aws-error.js'

/** How far a request's date may be off, in minutes: STS allows more. */
const skewMinutesMax = (service: string): number => (service === 'sts' ? 15 : 5)

interface SignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Identity {
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiresAtMs?: number
}

interface VerifiedCaller {
  readonly accessKeyId: string
  readonly region: string
}

const invalidToken = 'The security token included in the request is invalid.'
const expiredToken = 'The security token included in the request is expired'

const jsonRefusals = {
  missing: () => new AwsError('MissingAuthenticationTokenException', 'Missing Authentication Token'),
  unknownKey: () => new AwsError('UnrecognizedClientException', invalidToken),
  expired: () => new AwsError('ExpiredTokenException', expiredToken),
  badSignature: (message: string) => new AwsError('InvalidSignatureException', message),
}

type Refusals = typeof jsonRefusals

/** STS is a query service: it has other names for the same refusals, with status 403. */
const queryRefusals: Refusals = {
  missing: () => new AwsError('MissingAuthenticationToken', 'Request is missing Authentication Token', 403),
  unknownKey: () => new AwsError('InvalidClientTokenId', invalidToken, 403),
  expired: () => new AwsError('ExpiredToken', expiredToken, 403),
  badSignature: (message) => new AwsError('SignatureDoesNotMatch', message, 403),
}

const authorizationForm =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/

const mismatch =
  'The request signature we calculated does not match the signature you provided. ' +
  'Check your AWS Secret Access Key and signing method. Consult the service documentation for details.'

/** Returns who signed the request and for which region; throws the error that AWS would answer. */
export function verifySignature(
  request: SignedRequest,
  service: string,
  nowMs: number,
  findIdentity: (accessKeyId: string) => Identity | undefined,
): VerifiedCaller {
  const refusals = service === 'sts' ? queryRefusals : jsonRefusals
  const form = authorizationForm.exec(request.headers.authorization ?? '')
  if (form === null) throw refusals.missing()
  const [, accessKeyId, date, region, scopeService, signedHeaders, signature] = form as unknown as string[]
  const identity = findIdentity(accessKeyId!)
  if (identity === undefined) throw refusals.unknownKey()
  if (header(request, 'x-amz-security-token') !== (identity.sessionToken ?? '')) throw refusals.unknownKey()
  const amzDate = header(request, 'x-amz-date')
  checkDate(amzDate, date!, nowMs, refusals, skewMinutesMax(service))
  if (scopeService !== service) {
    throw refusals.badSignature(`Credential should be scoped to correct service: '${service}'.`)
  }
  const signed = signedHeaders!.split(';')
  const amzHeaders = Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'))
  for (const name of ['host', ...amzHeaders]) {
    if (!signed.includes(name)) throw refusals.badSignature(`'${name}' must be a 'SignedHeader'.`)
  }
  const bodyHash = sha256(request.body)
  const claimedHash = request.headers['x-amz-content-sha256']
  if (claimedHash !== undefined && claimedHash !== bodyHash) throw refusals.badSignature(mismatch)
  const scope = `${date}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', amzDate, scope, sha256(canonical(request, signed, bodyHash))].join('\n')
  const key = signingKey(identity.secretAccessKey, date!, region!, service)
  if (createHmac('sha256', key).update(text).digest('hex') !== signature)
    throw refusals.badSignature(mismatch)
  if (identity.expiresAtMs !== undefined && identity.expiresAtMs <= nowMs) throw refusals.expired()
  return { accessKeyId: accessKeyId!, region: region! }
}

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const signingKey = (secret: string, date: string, region: string, service: string): Buffer =>
  hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), service), 'aws4_request')

const header = (request: SignedRequest, name: string): string => String(request.headers[name] ?? '')

function checkDate(
  amzDate: string,
  scopeDate: string,
  nowMs: number,
  refusals: Refusals,
  minutes: number,
): void {
  const iso = amzDate.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const signedAtMs = iso === amzDate ? Number.NaN : Date.parse(iso)
  if (Number.isNaN(signedAtMs)) throw refusals.badSignature("Date must be in 'YYYYMMDDTHHMMSSZ' format.")
  if (!amzDate.startsWith(scopeDate)) throw refusals.badSignature('Date in Credential scope does not match.')
  const [earliestMs, latestMs] = [nowMs - minutes * 60_000, nowMs + minutes * 60_000]
  const now = amzDateOf(nowMs)
  if (signedAtMs < earliestMs) {
    throw refusals.badSignature(
      `Signature expired: ${amzDate} is now earlier than ${amzDateOf(earliestMs)} (${now} - ${minutes} min.)`,
    )
  }
  if (signedAtMs > latestMs) {
    throw refusals.badSignature(
      `Signature not yet current: ${amzDate} is still later than ${amzDateOf(latestMs)} (${now} + ${minutes} min.)`,
    )
  }
}

const amzDateOf = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:]|\.\d{3}/g, '')

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

function canonical(request: SignedRequest, signed: readonly string[], bodyHash: string): string {
  const [path = '/', query = ''] = request.url.split('?')
  const pairs = query.split('&').filter((pair) => pair !== '')
  return [
    request.method,
    path
      .split('/')
      .map((segment) => encode(decodeURIComponent(segment)))
      .join('/'),
    pairs
      .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
      .sort()
      .join('&'),
    ...signed.map((name) => `${name}:${header(request, name).trim().replace(/ +/g, ' ')}`),
    '',
    signed.join(';'),
    bodyHash,
  ].join('\n')
}
