import css from './Flag.module.css'
import { bands, type Band } from './flags.ts'

const countryNames = new Intl.DisplayNames(['en'], { type: 'region' })

/** The country's name in English, or its code. */
export function countryName(code: string): string {
  try {
    return countryNames.of(code) ?? code
  } catch {
    return code
  }
}

/** A country's flag, drawn from bands and crosses; where it takes more than that, the code in a frame. */
export function Flag({ code }: { code: string }) {
  const flag = bands[code]
  const name = countryName(code)
  if (flag === undefined) {
    return (
      <span className={css['code']} role="img" aria-label={name} title={name}>
        {code}
      </span>
    )
  }
  return (
    <svg className={css['flag']} viewBox="0 0 18 12" role="img" aria-label={name}>
      {flag.map((band, i) => (
        <Shape key={i} band={band} />
      ))}
      <rect className={css['edge']} x=".5" y=".5" width="17" height="11" rx="1.6" />
    </svg>
  )
}

function Shape({ band: [shape, colour, ...n] }: { band: Band }) {
  if (shape === 'disc') return <circle cx={n[0]} cy={n[1]} r={n[2]} fill={colour} />
  if (shape === 'triangle') return <path d={`M0 0 ${n[0]} 6 0 12z`} fill={colour} />
  if (shape === 'saltire') return <path d="m0 0 18 12M18 0 0 12" stroke={colour} strokeWidth={n[0]} />
  return <rect x={n[0]} y={n[1]} width={n[2]} height={n[3]} fill={colour} />
}
