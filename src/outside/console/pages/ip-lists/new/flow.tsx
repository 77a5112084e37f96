/** A new IP list, in one flow: where its entries come from, what they are, its name, and where it is used. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { api } from '../../../data/asking/api.js'
import { type KeptDraft, useKeptDraft } from '../../../data/drafts/kept-draft.js'
import { useKeptText } from '../../../data/drafts/kept-text.js'
import { go, hrefTo, parameter, setParameters } from '../../../data/location.js'
import { notify } from '../../../data/notices.js'
import { formatOf } from '../../../data/resources/list-files.js'
import { Button } from '../../../kit/button.js'
import { Link } from '../../../kit/link.js'
import { EditButton } from '../../../parts/edit-button.js'
import { Locked } from '../../../parts/flow/locked.js'
import { Steps, Tiles } from '../../../parts/flow/steps.js'
import { MissingValues } from '../../../parts/forms/draft-panel.js'
import { FormFaults } from '../../../parts/forms/form-faults.js'
import { GuardFields, NameFields } from '../list-forms.js'
import {
  bodyOf,
  isComplete,
  type Texts,
  type TextValue,
  textsOf,
  type Values,
  valuesOf,
} from '../list-texts.js'
import { EntriesByHand } from './by-hand.js'
import { SourceStep } from './source-step.js'
import { UseStep } from './use-step.js'

const stepNames = ['Where from', 'Entries', 'Name', 'Use'] as const

const origins = [
  {
    id: 'hand',
    name: 'By hand',
    purpose: 'Pasted, or from a file on your computer. It stays as it is until someone changes it.',
    needs: 'addresses or ranges, one on each line',
    mark: 'M4 20l4-1L19 8l-3-3L5 16zM14 7l3 3',
  },
  {
    id: 'url',
    name: 'A web address',
    purpose: 'Fetched every hour, or as often as you like, such as a list of Spamhaus or of a cloud.',
    needs: 'its URL',
    mark: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM3 12h18M12 3c5 6 5 12 0 18M12 3c-5 6-5 12 0 18',
  },
  {
    id: 'file',
    name: 'A file on the server',
    purpose: 'Read again whenever it has changed. For lists that another program writes.',
    needs: 'a directory that the operator of Weir has set',
    mark: 'M6 3h8l4 4v14H6zM14 3v4h4',
  },
]

export function NewList() {
  const from = parameter('from')
  const id = parameter('id')
  const isNaming = parameter('step') === 'name'
  const isKnown = origins.some((each) => each.id === from)
  const at = id !== '' ? 3 : !isKnown ? 0 : isNaming ? 2 : 1
  return (
    <div class="stack">
      <p>
        <Link to={['ip-lists']}>IP lists</Link>
      </p>
      <h1>New IP list</h1>
      <Steps names={stepNames} at={at} />
      {id !== '' ? (
        <UseStep key={id} id={id} />
      ) : isKnown ? (
        <Filling key={from} from={from} isNaming={isNaming} />
      ) : (
        <>
          <p class="quiet">A named list of addresses, for rules and expressions. Where do they come from?</p>
          <Tiles
            label="Origins"
            entries={origins}
            to={['ip-lists', 'new']}
            with={(each) => ({ from: each })}
          />
        </>
      )}
    </div>
  )
}

interface FillingProps {
  readonly from: string
  readonly isNaming: boolean
}

/** The typed texts stay while one goes from step to step, and over a reload. */
function Filling({ from, isNaming }: FillingProps) {
  const draft = useListDraft(from)
  const { kept, values, entries } = draft
  const toNames = (): void => setParameters({ step: 'name' }, { replace: false })
  const discard = <Discard draft={draft} />
  return (
    <>
      <MissingValues kept={kept} />
      {isNaming ? (
        <Naming draft={draft} from={from}>
          {discard}
        </Naming>
      ) : from === 'hand' ? (
        <EntriesByHand text={entries} onNext={toNames}>
          {discard}
        </EntriesByHand>
      ) : (
        <SourceStep values={values} onNext={toNames}>
          {discard}
        </SourceStep>
      )}
    </>
  )
}

const Discard = ({ draft: { isBegun, forget } }: { readonly draft: ListDraft }) => (
  <Button onClick={forget} isDisabled={!isBegun}>
    Discard the draft
  </Button>
)

interface NamingProps {
  readonly draft: ListDraft
  readonly from: string
  readonly children: ComponentChildren
}

function Naming({ draft: { kept, values, entries, made, forget }, from, children }: NamingProps) {
  const fault = useSignal<unknown>(undefined)
  const create = async (): Promise<void> => {
    fault.value = undefined
    let id = made.value
    try {
      if (id === '') {
        id = (await api.ipList.create(bodyOf(values))).id
        // If its entries are refused, the list is there already when they are sent again.
        made.value = id
      }
      const text = entries.value
      if (from === 'hand' && text.trim() !== '')
        await api.listEntries.replace(id, { text, format: formatOf(text, '') })
    } catch (error) {
      fault.value = error
      return
    }
    forget()
    notify({ text: 'The IP list was created.', kind: 'good' })
    go(hrefTo(['ip-lists', 'new'], { id }))
  }
  return (
    <section class="panel stack form" aria-label="How it is called">
      <h2>What is it called?</h2>
      <FormFaults error={fault.value}>
        <NameFields values={values} />
        {from !== 'hand' && (
          <details>
            <summary>How often it is fetched, and what is not believed</summary>
            <div class="stack">
              <GuardFields values={values} />
            </div>
          </details>
        )}
      </FormFaults>
      <Locked />
      <div class="row">
        <EditButton kind="main" onClick={create} isDisabled={!isComplete(values) || kept.missing.length > 0}>
          Create the list
        </EditButton>
        <Button onClick={() => setParameters({ step: '' }, { replace: false })}>Back</Button>
        {children}
      </div>
      <p class="quiet">What you type stays in this tab until you create or discard it, without secrets.</p>
    </section>
  )
}

/** It survives a reload until the list is created or the draft discarded. */
interface ListDraft {
  readonly kept: KeptDraft<Texts>
  readonly values: Values
  /** Entries of a list by hand, in a place of their own because they may be long. */
  readonly entries: TextValue
  /** The id of the list, if it was created and its entries were refused. */
  readonly made: TextValue
  readonly isBegun: boolean
  forget(): void
}

/** The browser never stores secrets: a header may be one. */
const storable = (draft: Texts) =>
  draft.secretHeaders === ''
    ? { draft, leftOut: [] }
    : { draft: { ...draft, secretHeaders: '' }, leftOut: ['Secret headers'] }

/** `from`: the origin of its entries. Each has a draft of its own. */
function useListDraft(from: string): ListDraft {
  const id = `new ip_list ${from}`
  const present: Texts = { ...textsOf(), origin: from, format: '' }
  const kept = useKeptDraft({
    id,
    present,
    bodyOf: (draft) => draft,
    completed: (draft) => ({ ...present, ...draft }),
    storable,
  })
  const [entries, made] = [useKeptText(`weir-entries ${id}`), useKeptText(`weir-made ${id}`)]
  // Several can be set before the page is drawn again.
  let { draft } = kept
  const values = valuesOf(
    () => draft,
    (next) => {
      draft = next
      kept.change(next)
    },
  )
  return {
    kept,
    values,
    entries,
    made,
    isBegun: kept.isChanged || entries.value !== '',
    forget() {
      kept.forget()
      entries.forget()
      made.forget()
    },
  }
}
