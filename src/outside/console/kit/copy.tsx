/** A text of several lines, with a button that copies it. */
import { copyText } from '../data/clipboard.js'
import { Button } from './button.js'

/** `what`: what the text is, such as `the IAM policy`. */
export const CopyText = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <div class="stack">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, also by keys. */}
    <pre tabIndex={0}>{text}</pre>
    <div class="row">
      <Button onClick={() => copyText(text, what)}>Copy {what}</Button>
    </div>
  </div>
)
