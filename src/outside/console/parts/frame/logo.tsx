/** Water that falls over a wall, as in the icon of the page. */
export const Logo = () => (
  <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
    <path class="wall" d="M1 9h8v13H1z" />
    <path class="water" d="M1 3h9.5c4.5 0 6 3 6 7.5V16H23v6H10.5V9H1z" />
  </svg>
)
