/** A part of a page that few need: it is loaded when it is first shown. */
import { signal } from '@preact/signals'
import type { ComponentType, FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { Failure, Waits } from './states.js'

export function onDemand<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): FunctionComponent<Props> {
  const loaded = signal<ComponentType<Props> | undefined>(undefined)
  const fault = signal<unknown>(undefined)
  const begin = async (): Promise<void> => {
    fault.value = undefined
    try {
      loaded.value = await load()
    } catch (error) {
      fault.value = error
    }
  }
  return function OnDemand(props: Props) {
    useEffect(() => {
      if (loaded.value === undefined) void begin()
    }, [])
    if (fault.value !== undefined) return <Failure error={fault.value} again={() => void begin()} />
    const Part = loaded.value
    return Part === undefined ? <Waits /> : <Part {...props} />
  }
}
