/**
 * Evaluated in a page before its picture is taken: what differs from run to run is replaced by something that does not. Ids,
 * names with random parts, times, rates; charts over time are hidden, because they move on.
 */
export const makeSteady = `(() => {
  const replaced = [
    [/\\b([a-z]{2,9})_[0-9A-Z]{26}\\b/g, '$1_00000000000000000000000000'],
    [/\\b(ev)_[0-9a-f]{32,}\\b/g, '$1_00000000'],
    [/\\b[0-9a-hjkmnp-tv-z]{26}\\b/g, '00000000'],
    [/\\b[0-9a-f]{6,}\\b/g, '00000000'],
    [/\\b127\\.0\\.0\\.1:\\d+/g, '127.0.0.1:0'],
    [/\\b\\d+\\.tcp\\.us\\.weir\\.localhost:\\d+/g, '1.tcp.us.weir.localhost:20000'],
    [/\\b\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z/g, '2026-01-01T00:00:00Z'],
    [/\\b([A-Z][a-z]{2} \\d{1,2}, )?(\\d{4}, )?\\d{1,2}:\\d\\d(:\\d\\d)?( [AP]M)?/g, '00:00:00'],
    [/\\b\\d[\\d.,]* ?(ms|s|min|h|d)\\b/g, '0 s'],
    [/\\bjust now\\b|\\bnow\\b/g, '0 s ago'],
    [/[\\d.,]+ (decisions|events)\\/s/g, '0 $1/s'],
  ]
  const observer = new MutationObserver(() => replace())
  const replace = () => {
    observer.disconnect()
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
      node.data = replaced.reduce((text, [pattern, by]) => text.replace(pattern, by), node.data)
    // A rate goes back to 0 some seconds after the traffic. In a narrow table, it stands behind its title.
    for (const title of document.querySelectorAll('th, .fold > .quiet'))
      if (title.textContent === 'Events/s')
        for (const rate of title.matches('th')
          ? [...title.closest('table').tBodies[0].rows].map((row) => row.cells[title.cellIndex])
          : [title.nextElementSibling])
          rate.textContent = '0'
    for (const time of document.querySelectorAll('time')) time.textContent = '00:00:00'
    observer.observe(document.body, { subtree: true, childList: true, characterData: true })
  }
  // Again before anything that comes in by a stream is seen.
  replace()
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('canvas, .uplot, .marks { visibility: hidden } *, ::before, ::after { animation: none !important; transition: none !important; caret-color: transparent !important }')
  document.adoptedStyleSheets = [sheet]
})()`
