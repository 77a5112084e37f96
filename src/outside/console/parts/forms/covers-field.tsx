/** Asks what covers an address or a range: the page reads the answer from `covers` in its address. */
import { useSignal } from '@preact/signals'
import { parameter, setParameters } from '../../data/location.js'

interface CoversFieldProps {
  readonly label: string
  readonly placeholder: string
}

export function CoversField({ label, placeholder }: CoversFieldProps) {
  const typed = useSignal(parameter('covers'))
  return (
    <form
      class="finder"
      onSubmit={(event) => {
        event.preventDefault()
        setParameters({ covers: typed.value.trim() }, { replace: false })
      }}
    >
      <input
        type="search"
        class="find"
        data-search
        aria-label={label}
        placeholder={placeholder}
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value
          if (typed.value === '') setParameters({ covers: '' })
        }}
      />
      <button type="submit">Find</button>
    </form>
  )
}
