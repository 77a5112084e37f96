/** Decisions as they happen. */
export function Live() {
  return <h1>Live</h1>
}
