/**
 * The head of a page: what one can begin is next to the title. The kinds of what it shows are below, if there are several.
 */
import type { ComponentChildren } from 'preact'
import { Choices } from './choices.js'

/** Each kind brings its own button. */
export const headOf =
  (title: string, tabs: Parameters<typeof Choices>[0]['choices'] = []) =>
  (button: ComponentChildren) => (
    <>
      <div class="row apart">
        <h1>{title}</h1>
        {button}
      </div>
      {tabs.length > 0 && <Choices label="Kind" name="tab" choices={tabs} />}
    </>
  )
