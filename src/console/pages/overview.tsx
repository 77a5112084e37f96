/** The first page: is it working, what is let in and what not, is a destination stuck, what changed, what needs a hand. */
export function Overview() {
  return <h1>Overview</h1>
}
