/** The groups of operations in the API's document, and the scheme of the console's sessions. */
import { secureSessionCookie, sessionCookie } from '../../http/caller/console-request.js'

export const findingsTag = {
  name: 'findings',
  description: 'Rules without effect, expressions that are constant, and what nobody uses.',
}

export const decisionsTag = {
  name: 'decisions',
  description:
    'What Weir decides about a connection or request before it is let in, and why. No event is made.',
}

export const consoleTag = {
  name: 'console',
  description: 'Sessions of the web console. With the cookie of one, any other operation needs no API key.',
}

export const overviewTag = {
  name: 'overview',
  description: 'Whether all is well, and what needs a hand.',
}

export const ingestTag = {
  name: 'ingest',
  description: 'Records of connections and requests, for those who do not publish them to NATS.',
}

export const trialsTag = {
  name: 'trials',
  description:
    'Drafts, tried on recorded traffic. A trial changes nothing and is kept for an hour; an account runs one at a time.',
}

export const changesTag = {
  name: 'changes',
  description: 'What was changed in the account, when and by whom.',
}

export const deadLettersTag = {
  name: 'dead letters',
  description:
    'Records that are invalid and events that their destination refuses for good, each set aside with the reason. They are kept for the retention of the deployment.',
}

/** The name of the security scheme: the cookie of a session. */
export const sessionScheme = {
  session: {
    type: 'apiKey' as const,
    in: 'cookie',
    name: sessionCookie,
    description: `A session of the web console, which stands for the API key that signed in. Over TLS, the cookie is called \`${secureSessionCookie}\`.`,
  },
}
