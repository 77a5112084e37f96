/** The actions on a destination. */
import { useSignal } from '@preact/signals'
import type { DeliveryStatus, DestinationCheck } from '../../../../words/shape/delivery-status.js'
import type { Resumption } from '../../../../words/shape/resumption.js'
import { act, api } from '../../data/asking/api.js'
import { go, hrefTo, setParameters } from '../../data/location.js'
import { number } from '../../data/texts/format.js'
import { Button } from '../../kit/button.js'
import { Drawer } from '../../kit/drawer.js'
import { Sentence } from '../../kit/sentence.js'
import { EditButton } from '../../parts/edit-button.js'
import { StateWord, type Tone } from '../../parts/words.js'
import type { Destination } from './target.js'

interface ActionsProps {
  readonly destination: Destination
  readonly status: DeliveryStatus | undefined
  /** Something was done: what is shown may be another now. */
  readonly done: () => void
}

export function Actions({ destination: { id, paused }, status, done }: ActionsProps) {
  const check = useSignal<DestinationCheck | undefined>(undefined)
  const waiting = status?.backlog.events ?? 0
  const resume = async (): Promise<void> => {
    await act(
      ({ resumed }: { readonly resumed: Resumption }) => resumed.msg,
      (client) => client.resumeDestination(id),
    )
    done()
  }
  const remove = async (): Promise<void> => {
    if (await act('The destination is deleted.', (client) => client.eventDestination.delete(id)))
      go(hrefTo(['destinations']))
  }
  const isTroubled = status !== undefined && status.state !== 'healthy'
  return (
    <div class="actions">
      <EditButton
        onClick={async () => {
          await act('The destination has accepted a test event.', (client) => client.sendTestEvent(id))
          done()
        }}
      >
        Send a test event
      </EditButton>
      <EditButton
        onClick={async () => {
          await act('The check is done.', async () => {
            check.value = await api.checkDestination(id)
          })
          done()
        }}
      >
        Check
      </EditButton>
      {!paused && (
        <EditButton
          onClick={async () => {
            await act('It is paused: its events wait.', (client) => client.pauseDestination(id))
            done()
          }}
        >
          Pause
        </EditButton>
      )}
      {(paused || isTroubled) && (
        <EditButton kind="main" onClick={resume}>
          {paused ? 'Resume' : 'Try now'}
        </EditButton>
      )}
      <EditButton onClick={() => setParameters({ tab: 'replays', open: 'replay' })}>Replay</EditButton>
      <EditButton onClick={() => setParameters({ open: 'edit' })}>Edit</EditButton>
      <EditButton
        kind="danger"
        confirm={`Delete this destination? ${waiting > 0 ? `${number(waiting)} events that wait for it are dropped.` : 'No events wait for it.'} Subscriptions must not name it any more.`}
        onClick={remove}
      >
        Delete
      </EditButton>
      {check.value !== undefined && (
        <CheckDrawer
          check={check.value}
          onClose={() => {
            check.value = undefined
          }}
        />
      )}
    </div>
  )
}

const results: Readonly<Record<DestinationCheck['result'], readonly [Tone, string]>> = {
  passed: ['good', 'The service would accept an event now.'],
  unproved: ['warning', 'Nothing is wrong as far as known. A test event proves the rest.'],
  failed: ['bad', 'Events cannot be delivered.'],
}

function CheckDrawer({ check, onClose }: { readonly check: DestinationCheck; readonly onClose: () => void }) {
  const [tone, text] = results[check.result]
  return (
    <Drawer title="Check" onClose={onClose}>
      <p>
        <StateWord tone={tone} text={check.result} />: {text}
      </p>
      {check.error !== null && (
        <p>
          <span class="mono">{check.error.code}</span> {check.error.msg}
        </p>
      )}
      {check.advice !== null && (
        <p>
          <Sentence text={check.advice} />
        </p>
      )}
      <Sentences title="Proved" texts={check.proved} />
      <Sentences title="Not proved" texts={check.not_proved} />
      <div class="row">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Drawer>
  )
}

const Sentences = ({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) =>
  texts.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <ul>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </section>
  )
