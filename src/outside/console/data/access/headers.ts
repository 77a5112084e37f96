/** Every write with the cookie of a session needs it: a form of another site can't send it. */
export const consoleHeaders = { 'weir-console': '1' }
