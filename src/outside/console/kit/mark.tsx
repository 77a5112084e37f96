/** A small drawing made of lines: of a kind of destination, or in a view that has nothing to show. */

export const Mark = ({ path }: { readonly path: string }) => (
  <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
    <path d={path} />
  </svg>
)
