import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useMedia } from '../../lib/use-media.ts'
import css from './SiteMap.module.css'
import { dots, height, width, x, y } from './world.ts'

export interface Site {
  id: string
  name: string
  /** Shown below the name: "960 CU free". */
  note?: ReactNode
  latitude: number
  longitude: number
  /** Capacity in any unit. The ring grows with the square root of the capacity. */
  weight?: number
  href?: string
}

const frame = { top: 6, height: height - 58 }
/** Size of a label in px on the screen: wide with the second line, narrow without. */
const labels = { wide: { width: 104, height: 36 }, narrow: { width: 64, height: 18 } }

/**
 * Places each label near its site without overlapping other labels, sites or the edge. `scale` is
 * screen px per map unit.
 */
export function placeLabels(
  sites: readonly Site[],
  scale = 1,
  size: { width: number; height: number } = labels.wide,
) {
  const label = { width: size.width / scale, height: size.height / scale }
  const taken: { left: number; right: number; top: number; bottom: number }[] = []
  const points = sites.map((site) => ({ site, px: x(site.longitude), py: y(site.latitude) }))
  const clear = (r: (typeof taken)[number]) =>
    r.left > 4 &&
    r.right < width - 4 &&
    r.top > frame.top + 2 &&
    r.bottom < frame.top + frame.height - 2 &&
    taken.every(
      (t) => r.right < t.left || r.left > t.right || r.bottom < t.top || r.top > t.bottom,
    ) &&
    points.every(
      (p) => p.px < r.left - 8 || p.px > r.right + 8 || p.py < r.top - 8 || p.py > r.bottom + 8,
    )
  return points.map(({ site, px, py }) => {
    // Of two neighbouring sites, the left one has its label on the left, so that the leader lines
    // don't cross.
    const near = points.filter(
      (p) => p.site !== site && Math.hypot(p.px - px, p.py - py) < 120 / scale,
    )
    const left = near.length > 0 && near.reduce((sum, p) => sum + p.px, 0) / near.length > px
    const tries = [40, 26, 60, 90, 130]
      .map((px) => px / Math.max(scale, 0.6))
      .flatMap((rise) =>
        [-rise, rise].flatMap((dy) =>
          [left, !left].map((end) => ({
            end,
            lx: px + (end ? -1 : 1) * (Math.abs(dy) * 0.6 + 12),
            ly: py + dy,
          })),
        ),
      )
    const rect = ({ end, lx, ly }: (typeof tries)[number]) => ({
      left: end ? lx - label.width : lx,
      right: end ? lx : lx + label.width,
      top: ly - label.height / 2,
      bottom: ly + label.height / 2,
    })
    const chosen = tries.find((t) => clear(rect(t))) ?? tries[0]!
    taken.push(rect(chosen))
    // `lx` and `ly` anchor the label, which ends or begins there.
    return { ...site, px, py, ...chosen }
  })
}

/** Sites on a world map. The page must show the same data in a list or table too. */
export function SiteMap({ sites, label: said }: { sites: readonly Site[]; label: string }) {
  const box = useRef<HTMLDivElement>(null)
  const [shown, setShown] = useState(width)
  useLayoutEffect(() => {
    if (box.current === null) return undefined
    const watch = new ResizeObserver(([entry]) => setShown(entry?.contentRect.width ?? width))
    watch.observe(box.current)
    return () => watch.disconnect()
  }, [])
  const narrow = useMedia('below', 'sm')
  const placed = useMemo(
    () => placeLabels(sites, Math.max(shown, 200) / width, narrow ? labels.narrow : labels.wide),
    [sites, shown, narrow],
  )
  const most = Math.max(1, ...sites.map((s) => s.weight ?? 1))
  return (
    <div className={css['map']} ref={box}>
      <svg
        className={css['world']}
        viewBox={`0 ${frame.top} ${width} ${frame.height}`}
        role="img"
        aria-label={said}
      >
        <path className={css['dots']} d={dots(7.2)} />
        {placed.map((site) => (
          <g key={site.id} className={css['site']}>
            <path
              d={`M${site.px} ${site.py}L${site.end ? site.lx + 12 : site.lx - 12} ${site.ly}h${site.end ? -8 : 8}`}
            />
            <circle
              className={css['halo']}
              cx={site.px}
              cy={site.py}
              r={6 + 6 * Math.sqrt((site.weight ?? 1) / most)}
            />
            <circle className={css['dot']} cx={site.px} cy={site.py} r="3" />
          </g>
        ))}
      </svg>
      {placed.map((site) => (
        <span
          key={site.id}
          className={css[site.end ? 'pin-end' : 'pin']}
          style={{
            left: `${(site.lx / width) * 100}%`,
            top: `${((site.ly - frame.top) / frame.height) * 100}%`,
          }}
        >
          {site.href === undefined ? <b>{site.name}</b> : <a href={site.href}>{site.name}</a>}
          {site.note !== undefined && <span>{site.note}</span>}
        </span>
      ))}
    </div>
  )
}
