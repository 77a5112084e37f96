/** Saves what a search selects as a file. */
import { useSignal } from '@preact/signals'
import { errorDetails, errorText } from '../../data/asking/api.js'
import { exportedMax, exportFormats, saveDecisions } from '../../data/asking/export.js'
import { queryOf, type Selection } from '../../data/decisions/selection.js'
import { notify } from '../../data/notices.js'
import { number } from '../../data/texts/format.js'
import { shellArgument } from '../../data/texts/shell.js'
import { Button } from '../../kit/button.js'
import { Drawer } from '../../kit/drawer.js'

export function Export({ selection }: { readonly selection: Selection }) {
  const isOpen = useSignal(false)
  return (
    <>
      <Button
        onClick={() => {
          isOpen.value = true
        }}
      >
        Export
      </Button>
      {isOpen.value && (
        <Drawer
          title="Export"
          onClose={() => {
            isOpen.value = false
          }}
        >
          <p>All decisions that this search selects, newest first, also those that are not listed here.</p>
          <p class="quiet">
            A file has at most {number(exportedMax)} decisions, and the browser must take it within a minute:
            narrow the time if there are more.
          </p>
          <div class="row">
            {exportFormats.map((format) => (
              <Button key={format[1]} onClick={() => save(selection, format)}>
                Save as {format[1]}
              </Button>
            ))}
          </div>
          <p>
            The same in a terminal: <code class="command">{commandOf(selection)}</code>
          </p>
        </Drawer>
      )}
    </>
  )
}

async function save(selection: Selection, format: (typeof exportFormats)[number]): Promise<void> {
  try {
    const count = await saveDecisions(queryOf(selection), format)
    const isCut = count >= exportedMax
    notify({
      kind: isCut ? 'bad' : 'good',
      text: isCut
        ? `The newest ${number(count)} decisions were saved. There may be more: export an earlier time, too.`
        : `${number(count)} decisions were saved.`,
    })
  } catch (error) {
    notify({
      kind: 'bad',
      text: `Nothing was saved: ${errorText(error)}`,
      details: errorDetails(error),
    })
  }
}

/** As a request, because the command line has not all parameters. */
const commandOf = (selection: Selection): string =>
  `curl -H "Authorization: Bearer $WEIR_API_KEY" -H 'Service-Version: 2' -H 'Accept: text/csv' ${shellArgument(
    `${location.origin}/decisions?${queryOf(selection)}`,
  )}`
