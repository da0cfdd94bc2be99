/** The steelyard: fulcrum, beam, load and poise. */
export const Mark = ({ size = 26 }: { size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 26 26"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.75"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d="M2 9.5h22" />
    <path d="M6.2 3.5h5.6L9 7.6z" fill="currentColor" strokeWidth="1.25" />
    <path d="M4 9.5v6M1.8 19.5h4.4M2.6 15.5h2.8v4H2.6z" strokeWidth="1.5" />
    <path d="M17.5 9.5v4.2" stroke="var(--accent)" />
    <rect x="14.4" y="13.6" width="6.2" height="8" rx="1.4" fill="var(--accent)" stroke="none" />
  </svg>
)
