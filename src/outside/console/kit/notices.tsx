/** Notices that say how the last actions ended. */
import { close, notices } from '../data/notices.js'

export const Notices = () => (
  <div class="notices" role="status" aria-live="polite">
    {notices.value.map((notice) => (
      <div key={notice.text} class={`notice ${notice.kind}`}>
        <p>{notice.text}</p>
        {notice.details?.map((each) => (
          <p key={each} class="quiet">
            {each}
          </p>
        ))}
        <button type="button" onClick={() => close(notice)}>
          Close
        </button>
      </div>
    ))}
  </div>
)
