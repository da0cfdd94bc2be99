import css from './Beam.module.css'

const notches = Array.from({ length: 33 }, (_, i) => 128 + i * 10)

/** Steelyard in one sentence and one drawing: racks on one arm, compute units on the other. */
export function Beam({
  title: Title = 'h2',
  children,
}: {
  title?: 'h1' | 'h2'
  children?: React.ReactNode
}) {
  return (
    <section className={css['beam']} aria-label="What Steelyard is">
      <Title>Your racks, weighed and put to work.</Title>
      <p>
        Find servers that boot Talos Linux, see what is in them, and turn them into Kubernetes
        clusters.
      </p>
      {children}
      <svg
        viewBox="0 0 480 150"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
      >
        <path d="M96 22v24M88 12h16l-8 12z" fill="currentColor" strokeWidth="1" />
        <g className={css['arm']}>
          <path d="M24 46h440" strokeWidth="2.5" />
          {notches.map((x, i) => (
            <path
              key={x}
              d={`M${x} 46v${i % 8 === 0 ? -14 : i % 4 === 0 ? -9 : -5}`}
              strokeWidth="1"
              opacity={i % 8 === 0 ? 1 : 0.7}
            />
          ))}
          {[0, 16, 32, 48, 64].map((n, i) => (
            <text key={n} x={128 + i * 80} y="20" textAnchor="middle" stroke="none">
              {n}
            </text>
          ))}
          <path d="M36 46v20M36 66 14 100M36 66l22 34" strokeWidth="1.25" />
          {[100, 113, 126].map((y) => (
            <g key={y}>
              <rect x="8" y={y} width="56" height="10" rx="1.5" />
              <path d={`M14 ${y + 5}h.01M30 ${y + 5}h26`} />
            </g>
          ))}
          <g className={css['poise']} stroke="var(--accent)">
            <path d="M288 41v36" />
            <path d="M281 46h14" strokeWidth="6" />
            <rect
              x="270"
              y="77"
              width="36"
              height="46"
              rx="4"
              fill="var(--accent-fill)"
              stroke="none"
            />
            <text x="288" y="142" textAnchor="middle" stroke="none" className={css['read']}>
              32 CU
            </text>
          </g>
        </g>
      </svg>
    </section>
  )
}
