import t from 'tap'
import { asStsError, faultOf, faultOfRecord } from '../../../../src/delivery/deliver/aws/faults.js'

const sdkError = (name: string, status?: number, message = 'why') =>
  Object.assign(new Error(message), {
    name,
    $metadata: status === undefined ? {} : { httpStatusCode: status, requestId: 'r-1' },
  })
const nodeError = (code: string) => Object.assign(new Error(`connect ${code}`), { code })

t.test('every error has its class', (t) => {
  const cases = [
    { error: sdkError('ProvisionedThroughputExceededException', 400), want: 'throttle' },
    { error: sdkError('ThrottlingException', 400), want: 'throttle' },
    { error: sdkError('KMSThrottlingException', 400), want: 'throttle' },
    { error: sdkError('ServiceUnavailableException', 503), want: 'throttle' },
    { error: sdkError('Unheard', 429), want: 'throttle' },
    { error: sdkError('InternalFailure', 500), want: 'transient' },
    { error: sdkError('Unheard', 502), want: 'transient' },
    { error: sdkError('TimeoutError'), want: 'transient', code: 'Timeout' },
    { error: sdkError('AbortError'), want: 'transient', code: 'Aborted' },
    { error: nodeError('ECONNRESET'), want: 'transient', code: 'ConnectionLost' },
    { error: nodeError('ENOTFOUND'), want: 'transient', code: 'ConnectionLost' },
    { error: 'no error at all', want: 'transient', code: 'UnknownError' },
    { error: sdkError('ExpiredTokenException', 400), want: 'credentials' },
    { error: sdkError('ExpiredToken', 403), want: 'credentials' },
    { error: sdkError('UnrecognizedClientException', 400), want: 'credentials' },
    { error: asStsError(sdkError('AccessDenied', 403)), want: 'credentials' },
    { error: sdkError('AccessDenied', 403), want: 'configuration' },
    { error: sdkError('CredentialsProviderError'), want: 'credentials' },
    { error: sdkError('AccessDeniedException', 400), want: 'configuration' },
    { error: sdkError('ResourceNotFoundException', 400), want: 'configuration' },
    { error: sdkError('KMSDisabledException', 400), want: 'configuration' },
    { error: sdkError('Unheard', 418), want: 'configuration' },
    { error: sdkError('ValidationException', 400), want: 'poison' },
    { error: sdkError('InvalidArgumentException', 400), want: 'poison' },
    { error: sdkError('InvalidParameterException', 400), want: 'poison' },
    { error: sdkError('Unheard', 413), want: 'poison' },
  ]
  for (const { error, want, code } of cases) {
    const fault = faultOf(error)
    const name = error instanceof Error ? `${error.name} ${error.message}` : error
    t.equal(fault.class, want, name)
    if (code !== undefined) t.equal(fault.code, code, name)
  }
  t.match(faultOf(sdkError('ValidationException', 400)), { msg: 'why', requestId: 'r-1' })
  t.equal(faultOfRecord('InternalFailure', 'Internal Service Failure').class, 'transient')
  t.equal(faultOfRecord('ProvisionedThroughputExceededException', undefined).class, 'throttle')
  t.end()
})

t.test('no message contains a secret', (t) => {
  const signature = 'ab'.repeat(32)
  const said = `The key AKIAIOSFODNN7EXAMPLE or ASIAIOSFODNN7EXAMPLE is wrong: Signature=${signature}\n  ${signature} ${'x'.repeat(9000)}`
  const { msg } = faultOf(sdkError('InvalidSignatureException', 403, said))
  t.notMatch(msg, /AKIA|ASIA|abab/)
  t.match(msg, /^The key … or … is wrong/)
  t.ok(msg.length <= 500)
  t.end()
})
