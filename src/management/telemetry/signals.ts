/** Which signals of OpenTelemetry are exported, and where to: what the settings say, without the packages that do it. */

/** What the settings say of one signal, which takes precedence, and of all. */
interface SignalSettings {
  readonly exporter: 'otlp' | 'none' | undefined
  readonly endpoint: string | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
}

export interface TelemetrySettings extends Readonly<Record<Signal, SignalSettings>> {
  readonly telemetry: Pick<SignalSettings, 'endpoint' | 'headers'> & {
    readonly disabled: 'true' | 'false'
    /** Of a request, with its repetitions. */
    readonly timeoutMs: number
    readonly compression: 'none' | 'gzip'
    readonly serviceName: string | undefined
    /** Attributes of all that is exported. */
    readonly resource: Readonly<Record<string, string>> | undefined
    readonly metricsEveryMs: number
    readonly sampler: SamplerName
    /** The share that is kept, for samplers that keep one. */
    readonly samplerArgument: number
  }
}

/** How traces are chosen, by the names of OpenTelemetry. */
export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof samplerNames)[number]

const signals = ['traces', 'metrics', 'logs'] as const
export type Signal = (typeof signals)[number]

/** Where a signal goes. */
export interface Target {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** As the specification of OTLP says, if an exporter is chosen and no address. */
const defaultEndpoint = 'http://localhost:4318'

export function targetsOf(settings: TelemetrySettings): Readonly<Partial<Record<Signal, Target>>> {
  const on = signals.filter((signal) => isOn(signal, settings))
  return Object.fromEntries(on.map((signal) => [signal, targetOf(signal, settings)]))
}

function isOn(signal: Signal, settings: TelemetrySettings): boolean {
  const { exporter, endpoint = settings.telemetry.endpoint } = settings[signal]
  if (settings.telemetry.disabled === 'true' || exporter === 'none') return false
  return exporter === 'otlp' || endpoint !== undefined
}

function targetOf(signal: Signal, { telemetry, ...settings }: TelemetrySettings): Target {
  const { endpoint: own, headers = telemetry.headers ?? {} } = settings[signal]
  return { url: own ?? `${telemetry.endpoint ?? defaultEndpoint}/v1/${signal}`, headers }
}
