import css from './Icon.module.css'
import { cx } from '../cx.ts'

/** A circle and a box with round corners, as path data. */
const circle = (x: number, y: number, r: number): string =>
  `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`
const box = (x: number, y: number, width: number, height: number, r: number): string =>
  `M${x + r} ${y}h${width - 2 * r}a${r} ${r} 0 0 1 ${r} ${r}v${height - 2 * r}a${r} ${r} 0 0 1 ${-r} ${r}h${2 * r - width}a${r} ${r} 0 0 1 ${-r} ${-r}v${2 * r - height}a${r} ${r} 0 0 1 ${r} ${-r}z`

/**
 * Steelyard's own icons as path data, on a 16 px grid with a 1.5 px line. An icon with one meaning
 * is named after it, any other icon after its picture.
 */
const paths = {
  add: 'M8 3v10M3 8h10',
  alert: 'M8 2.3 14.2 13H1.8zM8 6.4v3M8 11.3h.01',
  'arrow-down': 'M8 3.5v9M4.8 9.5 8 12.7l3.2-3.2',
  'arrow-left': 'M13 8H3M7 4 3 8l4 4',
  'arrow-right': 'M3.5 8h9M8.8 4.2 12.6 8l-3.8 3.8',
  'arrow-up': 'M8 12.5v-9M4.8 6.5 8 3.3l3.2 3.2',
  bell: 'M4 11.5V7a4 4 0 0 1 8 0v4.5M2.6 11.5h10.8M6.7 13.7h2.6',
  bookmark: 'M4.2 2.6h7.6v10.8L8 10.7l-3.8 2.7z',
  check: 'm3.5 8.4 3 3 6-6.6',
  'chevron-down': 'm4.5 6.3 3.5 3.5 3.5-3.5',
  'chevron-left': 'M9.8 4.5 6.3 8l3.5 3.5',
  'chevron-right': 'M6.3 4.5 9.8 8l-3.5 3.5',
  'chevron-up': 'm4.5 9.8 3.5-3.5 3.5 3.5',
  chip: 'M4.6 4.6h6.8v6.8H4.6zM6.4 2v2.6M9.6 2v2.6M6.4 11.4V14M9.6 11.4V14M2 6.4h2.6M2 9.6h2.6M11.4 6.4H14M11.4 9.6H14',
  clock: `${circle(8, 8, 6)}M8 4.6V8l2.4 1.5`,
  close: 'm4 4 8 8M12 4l-8 8',
  cluster: 'M8 1.8 13.4 5v6L8 14.2 2.6 11V5zM8 8l5.4-3M8 8v6.2M8 8 2.6 5',
  columns: `${box(2.4, 2.8, 11.2, 10.4, 1)}M6.2 2.8v10.4M9.8 2.8v10.4`,
  copy: `${box(5.5, 5.5, 8, 8, 1.2)}M3.5 10.5h-.3a.7.7 0 0 1-.7-.7V3.2c0-.4.3-.7.7-.7h6.6c.4 0 .7.3.7.7v.3`,
  datacenter: 'M2 13.6h12M3.4 13.6V2.6h6v11M9.4 6.4h3.2v7.2M5.6 5.2h1.6M5.6 7.9h1.6M5.6 10.6h1.6',
  disk: 'M3 9.5 4.8 3h6.4L13 9.5M3 9.5h10v3.8H3zM10.6 11.4h.01',
  download: 'M8 2.5v7.4M4.8 7 8 10.2 11.2 7M2.8 13.2h10.4',
  edit: 'm3 13 .6-2.9 7-7a1.2 1.2 0 0 1 1.7 0l.6.6a1.2 1.2 0 0 1 0 1.7l-7 7zM9.4 4.3l2.3 2.3',
  error: `${circle(8, 8, 6)}M8 4.8v3.8M8 11h.01`,
  external:
    'M9.2 2.8h4v4M13 3 7.6 8.4M11.8 9.4v3.2c0 .4-.3.7-.7.7H3.4a.7.7 0 0 1-.7-.7V4.9c0-.4.3-.7.7-.7h3.2',
  eye: `M1.5 8S4 3.6 8 3.6 14.5 8 14.5 8 12 12.4 8 12.4 1.5 8 1.5 8z${circle(8, 8, 1.9)}`,
  'eye-off': 'M1.5 8S4 3.6 8 3.6 14.5 8 14.5 8 12 12.4 8 12.4 1.5 8 1.5 8zM2.8 13.2l10.4-10.4',
  filter: 'M2.5 4h11M4.5 8h7M6.5 12h3',
  grip: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  help: `${circle(8, 8, 6)}M6.3 6.3a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.8.6-.8 1.1M8 11.3h.01`,
  info: `${circle(8, 8, 6)}M8 7.4v3.6M8 5h.01`,
  key: `${circle(5, 11, 2.6)}M6.9 9.1l6-6M10.8 5.2l1.8 1.8`,
  lock: `${box(3.5, 7, 9, 6.4, 1)}M5.5 7V5a2.5 2.5 0 0 1 5 0v2`,
  'log-out': 'M6 2.5H3.2a.7.7 0 0 0-.7.7v9.6c0 .4.3.7.7.7H6M10.5 11 13.5 8l-3-3M13.2 8H6',
  marketplace: 'M2 5h12M5.5 2.5V5M11 5v3.2M9.2 8.2h3.6v3H9.2zM2.8 5v3.4M1.6 8.4h2.4',
  minus: 'M4 8h8',
  moon: 'M13.2 9.6A5.6 5.6 0 1 1 6.4 2.8a4.6 4.6 0 0 0 6.8 6.8z',
  more: 'M8 3.6h.01M8 8h.01M8 12.4h.01',
  network: `${box(6, 1.8, 4, 3.4, 0.6)}${box(1.8, 10.8, 4, 3.4, 0.6)}${box(10.2, 10.8, 4, 3.4, 0.6)}M8 5.2V8M3.8 10.8V8h8.4v2.8`,
  overview: 'M2.5 2.5h4.6v6H2.5zM8.9 2.5h4.6v3.4H8.9zM8.9 7.5h4.6v6H8.9zM2.5 10.1h4.6v3.4H2.5z',
  power: 'M8 2.2v5.2M4.4 4.2a5.4 5.4 0 1 0 7.2 0',
  refresh: 'M13.2 6.5A5.5 5.5 0 1 0 13.4 9.5M13.4 3v3.6H9.8',
  search: `${circle(7, 7, 4.5)}M10.4 10.4l3.4 3.4`,
  server: `${box(2, 2.5, 12, 4.6, 1)}${box(2, 8.9, 12, 4.6, 1)}M4.5 4.8h.01M4.5 11.2h.01M8.5 4.8H12M8.5 11.2H12`,
  sun: `${circle(8, 8, 2.8)}M8 1.6v1.2M8 13.2v1.2M14.4 8h-1.2M2.8 8H1.6M12.5 3.5l-.9.9M4.4 11.6l-.9.9M12.5 12.5l-.9-.9M4.4 4.4l-.9-.9`,
  swap: 'M2.8 5.4h9.6M9.8 2.8l2.6 2.6-2.6 2.6M13.2 10.6H3.6M6.2 8l-2.6 2.6 2.6 2.6',
  terminal: `${box(1.8, 2.8, 12.4, 10.4, 1.2)}M4.6 6l2.2 2-2.2 2M8.6 10h2.8`,
  trash: 'M2.8 4.4h10.4M6.2 4.4V2.8h3.6v1.6M4 4.4l.6 9h6.8l.6-9M6.7 7v3.8M9.3 7v3.8',
}

export type IconName = keyof typeof paths

/**
 * An icon, hidden from screen readers: it always has text beside it or a named control around it.
 * `size` in px.
 */
export function Icon({
  name,
  size = 16,
  className,
}: {
  name: IconName
  size?: 12 | 16 | 20
  className?: string | undefined
}) {
  return (
    <svg
      className={cx(css['icon'], size !== 16 && css[`s${size}`], className)}
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      <path d={paths[name]} strokeWidth={name === 'more' ? 2.2 : undefined} />
    </svg>
  )
}

/** A progress spinner. */
export function Spinner({ className }: { className?: string }) {
  return (
    <svg className={cx(css['icon'], css['spin'], className)} viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="5.6" strokeOpacity=".35" />
      <path d="M8 2.4A5.6 5.6 0 0 1 13.6 8" strokeWidth="2" />
    </svg>
  )
}

/** The mark of the product, a steelyard: fulcrum, beam, load and poise. */
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
