/**
 * The example that a page without a link begins with: `example.yaml`, and the file as it was read. The build puts both here
 * (`config/bundle-playground.mjs`), so that the first decision needs no parser.
 */
import type { PolicyFile } from '../../judging/evaluate/portable/policy-file.js'

export const example: { readonly text: string; readonly file: PolicyFile } = {
  text: '',
  file: {
    configuration: { tcp_edges: [], https_edges: [], ip_policies: [], ip_lists: [], ip_restrictions: [] },
    tests: [],
  },
}
