/** Words with a meaning: decisions and states. A sign says what the color says. */

const signs = {
  allow: '✓',
  block: '⊘',
  deny: '✕',
  good: '●',
  warning: '▲',
  bad: '■',
  quiet: '○',
} as const

export type Tone = 'good' | 'warning' | 'bad' | 'quiet'

export const DecisionWord = ({ decision }: { readonly decision: 'allow' | 'block' | 'deny' }) => (
  <span class={`word ${decision}`}>
    <span aria-hidden="true">{signs[decision]}</span> {decision}
  </span>
)

export const StateWord = ({ tone, text }: { readonly tone: Tone; readonly text: string }) => (
  <span class={`word ${tone}`}>
    <span aria-hidden="true">{signs[tone]}</span> {text}
  </span>
)

/** Nothing about what is enforced, as most of all is. */
export const UnenforcedWord = ({ isEnforced }: { readonly isEnforced: boolean }) =>
  isEnforced ? null : <StateWord tone="warning" text="not enforced" />

/** The action of a rule of an IP policy. */
export const ActionWord = ({ action }: { readonly action: 'allow' | 'deny' }) => (
  <StateWord tone={action === 'allow' ? 'good' : 'bad'} text={action} />
)
