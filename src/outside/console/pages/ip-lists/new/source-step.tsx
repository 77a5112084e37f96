/** A list that is fetched: its address, and a look at what is there before anything is created. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import type { IpListPreview } from '../../../../../words/shape/ip-lists/ip-list-preview.js'
import { may } from '../../../data/access/session.js'
import { api } from '../../../data/asking/api.js'
import { formatChoices, formatWords } from '../../../data/resources/list-files.js'
import { bytes } from '../../../data/texts/format.js'
import { Button } from '../../../kit/button.js'
import { Link } from '../../../kit/link.js'
import { Failure } from '../../../parts/states.js'
import { StateWord } from '../../../parts/words.js'
import { PlaceFields } from '../list-forms.js'
import { previewBody, type Values } from '../list-texts.js'
import { FoundEntries } from './found-entries.js'

interface SourceStepProps {
  readonly values: Values
  readonly onNext: () => void
  /** More to press. */
  readonly children: ComponentChildren
}

interface Looked {
  readonly of: string
  readonly preview?: IpListPreview
  readonly fault?: unknown
}

export function SourceStep({ values, onNext, children }: SourceStepProps) {
  const looked = useSignal<Looked | undefined>(undefined)
  const body = previewBody(values)
  const look = async (): Promise<void> => {
    const of = JSON.stringify(body)
    looked.value = await api.listEntries.preview(body).then(
      (preview) => ({ of, preview }),
      (fault: unknown) => ({ of, fault }),
    )
  }
  const next = (): void => {
    // The list is created with the format that was found.
    values.format.value ||= looked.value?.preview?.format ?? ''
    onNext()
  }
  const isSeen = looked.value?.preview?.error === null && looked.value.of === JSON.stringify(body)
  const isTyped = values.address.value.trim() !== ''
  return (
    <div class="split flow">
      <section class="panel stack" aria-label="Where from">
        <PlaceFields values={values} choices={formatChoices} />
        <div class="row">
          {may('write') && (
            <Button kind={isSeen ? 'plain' : 'main'} onClick={look} isDisabled={!isTyped}>
              Preview
            </Button>
          )}
          <Button kind={isSeen ? 'main' : 'plain'} onClick={next} isDisabled={!isTyped}>
            Next: its name
          </Button>
          <Link to={['ip-lists', 'new']}>Another origin</Link>
          {children}
        </div>
        <p class="quiet">The server of Weir fetches it. Nothing is stored before you create the list.</p>
      </section>
      <section class="panel stack" aria-label="Preview">
        <h2>What is there</h2>
        {looked.value === undefined && <p class="quiet">Press “Preview” to see its first entries.</p>}
        {looked.value !== undefined && !isSeen && looked.value.of !== JSON.stringify(body) && (
          <p class="quiet">The form has changed since.</p>
        )}
        {looked.value?.fault !== undefined && <Failure error={looked.value.fault} />}
        {looked.value?.preview && <Found preview={looked.value.preview} />}
      </section>
    </div>
  )
}

const Found = ({ preview }: { readonly preview: IpListPreview }) =>
  preview.error === null ? (
    <>
      <FoundEntries count={preview.entries} first={preview.first} refused={preview.refused} />
      <p class="quiet">
        {preview.format !== null && <>Read as: {formatWords[preview.format]}, </>}
        {bytes(preview.bytes)}
      </p>
    </>
  ) : (
    <div class="stack answer bad" role="status">
      <p>
        <StateWord tone="bad" text="not fetched" /> {preview.error.message}
      </p>
    </div>
  )
