/** The way in: an API key. A link that `weir console` prints needs none. */
import { useSignal } from '@preact/signals'
import { signedOutBecause } from '../../data/access/session.js'
import { errorText } from '../../data/asking/api.js'
import { signIn } from '../../data/asking/sign-in.js'
import { root } from '../../data/location.js'
import { Command } from '../states.js'
import { Logo } from './logo.js'

export function SignIn({ fault = '' }: { readonly fault?: string }) {
  const token = useSignal('')
  const problem = useSignal(fault)
  const isBusy = useSignal(false)
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    isBusy.value = true
    try {
      await signIn({ token: token.value.trim() })
    } catch (error) {
      problem.value = errorText(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <main class="sign-in">
      <h1 class="brand">
        <Logo />
        Weir
      </h1>
      {signedOutBecause.value !== '' && <p role="status">{signedOutBecause.value}</p>}
      <form onSubmit={(event) => void submit(event)}>
        <div class="field">
          <label for="token">API key</label>
          <input
            id="token"
            type="password"
            autoComplete="current-password"
            spellcheck={false}
            value={token.value}
            onInput={(event) => {
              token.value = event.currentTarget.value
            }}
          />
        </div>
        {problem.value !== '' && (
          <p class="fault" role="alert">
            {problem.value}
          </p>
        )}
        <button type="submit" class="main" disabled={isBusy.value || token.value.trim() === ''}>
          Sign in
        </button>
      </form>
      <p class="quiet">
        On the machine that runs Weir, this prints a link that signs in without a key:{' '}
        <Command text="weir console" />
      </p>
      <p>
        <a href={`${root}docs`}>API reference</a>
      </p>
    </main>
  )
}
