/** Advice for web servers. */
import { connectionAdvice, type KindAdvice, tlsAdvice } from '../kind/advice.js'

const redirected =
  'The server sends requests to another address, which is not followed. Set the URL that the error names, if it is yours.'
const behindProxy =
  'A proxy answers that the server behind it does not work or does not answer. Look at that server, and at the log of the proxy.'
const contents =
  'The server refuses the contents of many events in a row. Its answer in the error says why; the form of the body (body, content_type) is the usual cause.'
const form =
  'The server does not take this form of a body. Choose the one that it expects (body, content_type, gzip).'

export const httpAdvice: KindAdvice = {
  throttle: {
    any: 'The server answers that it gets too many requests (429). Weir waits as long as it asks (Retry-After). If the backlog grows, raise the limit of the server, or let a filter keep events back.',
  },
  transient: {
    any: 'Requests fail or are not answered in time. Look at the error, at the way to the server, and at its log.',
    ...connectionAdvice('server'),
    Http408: 'The server waited too long for a request. Look at its load and at the way to it.',
    Http500: 'The server has an error of its own (500). Look at its log at the time of the error.',
    Http502: behindProxy,
    Http503: 'The server does not serve at present (503). Look whether it starts, or is overloaded.',
    Http504: behindProxy,
    IncompleteAnswer: 'The answers of the server end before they are complete. Look at its log.',
  },
  credentials: {
    any: 'The server refuses the credentials. Set a valid token, password or header.',
    Http401: 'The server refuses the credentials (401). Set a valid token, password or header.',
    Http407:
      'A proxy on the way asks for credentials of its own (407), which Weir does not send. Let it pass these requests, or choose a URL without it.',
  },
  configuration: {
    any: 'The server refuses every request. Look at the error: the path of the URL, what the token may do, and the form of the body (body, content_type) are the usual causes.',
    Http301: redirected,
    Http302: redirected,
    Http303: redirected,
    Http307: redirected,
    Http308: redirected,
    Http403:
      'The server does not allow these requests (403). Give the token or the user the right to post there, or set another one; a firewall in front of it is another usual cause.',
    Http404: 'The server has nothing at this path (404). Correct the URL.',
    Http405: 'The server takes no POST at this path (405). Correct the URL.',
    Http406: form,
    Http410: 'What was at this URL has been removed for good (410). Set another URL.',
    Http415: form,
    Http426: 'The server wants another protocol (426), mostly TLS. Set the URL with https.',
    Http431: 'The headers are too large for the server (431). Leave some of them out.',
    NotBulkAnswer: 'The answer is not that of a bulk API. Set the URL that ends with _bulk.',
    NotHttp: 'What answers there is no web server. Correct the port, or http and https, in the URL.',
    TlsFailed: tlsAdvice('server', 'whether http or https is right in the URL'),
  },
  poison: {
    any: contents,
    Http413:
      'The server takes only smaller requests (413), and refuses single events for their size. Raise its limit for a body, or let the subscription choose fewer fields.',
  },
}
