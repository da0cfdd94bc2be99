import css from './VersionLabel.module.css'

/**
 * Label with the version, for support requests, at the bottom right of every screen. Rendered
 * beside the frames, so that the error screen has the label too. It is above dialogs and sheets,
 * and clicks pass through it to the element below.
 */
export const VersionLabel = () => (
  <aside className={css['version']} aria-label="Version">
    {__VERSION__}
  </aside>
)
