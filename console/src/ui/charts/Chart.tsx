import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useStore } from '../../lib/store.ts'
import { theme } from '../../lib/theme.ts'
import { cx } from '../cx.ts'
import { axisText, type ChartUnit, summaryOf, timeText, valueText } from './chart-text.ts'
import css from './Chart.module.css'

export interface ChartLine {
  title: string
  /** One value per step; null where nothing was measured. */
  mean: readonly (number | null)[]
  max: readonly (number | null)[]
}

interface ChartProps {
  title: string
  unit: ChartUnit
  startsAt: string
  stepSeconds: number
  /** One or two. */
  lines: readonly ChartLine[]
  /** What happened when, in the order of time; `at` in ms since 1970. */
  moments?: readonly { readonly at: number; readonly text: string }[]
}

const noMoments: NonNullable<ChartProps['moments']> = []
/** How far from a moment its text is shown, as a part of the period. */
const nearPart = 1 / 120

const height = 160
const colours = ['--accent', '--ok-fill']
/** The least that the scale shows, so that noise isn't drawn as mountains. */
const leastTop: Readonly<Record<ChartUnit, number>> = {
  share: 1,
  rate: 1_000,
  bytes: 1_000_000,
  seconds: 0.01,
  count: 4,
}
/** Charts with this key show the same moment. */
const sync = 'moment'

const colourOf = (element: Element, token: string): string =>
  getComputedStyle(element).getPropertyValue(token).trim()

/** A dashed line at each moment. */
function drawMoments(u: uPlot, moments: Required<ChartProps>['moments'], colour: string): void {
  const { ctx, bbox } = u
  ctx.save()
  ctx.strokeStyle = colour
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { at } of moments) {
    const x = Math.round(u.valToPos(at / 1000, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** The options of uPlot, in the colours of the current theme. */
function optionsOf(
  host: HTMLElement,
  {
    unit,
    stepSeconds,
    lines,
    moments,
  }: Required<Pick<ChartProps, 'unit' | 'stepSeconds' | 'lines' | 'moments'>>,
  onCursor: (index: number | null) => void,
): uPlot.Options {
  const [line, text] = [colourOf(host, '--line'), colourOf(host, '--text-3')]
  const font = `12px ${colourOf(host, '--font-sans') || 'sans-serif'}`
  const axis = { stroke: text, font, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  return {
    width: host.clientWidth,
    height,
    legend: { show: false },
    cursor: { sync: { key: sync }, y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      // A share is drawn on the whole scale, so that 5 % looks like little.
      y: {
        range: (_u, _min, max) => [0, unit === 'share' ? 1 : Math.max(leastTop[unit], max * 1.1)],
      },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 32,
        space: 72,
        values: (_u, splits, _axis, _space, step) => splits.map((at) => axisText(at, step)),
      },
      {
        ...axis,
        size: 72,
        space: 36,
        values: (_u, splits) => splits.map((value) => valueText(value, unit)),
      },
    ],
    series: [
      {},
      ...lines.flatMap((_line, i): uPlot.Series[] => {
        const stroke = colourOf(host, colours[i] ?? colours[0]!)
        return [
          { stroke, width: 1.5, points: { size: 3 } },
          // The highest minute of each step; of single minutes it is the value itself.
          { stroke, width: 1, alpha: 0.45, points: { show: false }, show: stepSeconds > 60 },
        ]
      }),
    ],
    hooks: {
      setCursor: [(u) => onCursor(u.cursor.idx ?? null)],
      draw: [(u) => drawMoments(u, moments, text)],
    },
  }
}

/**
 * A chart over time. The values of the moment under the pointer, or of the one that the arrow keys
 * have chosen, stand above it; without one, the last values.
 */
export default function Chart(props: ChartProps) {
  // A canvas takes its colours when it is drawn.
  return <Drawn key={useStore(theme)} {...props} />
}

function Drawn({ title, unit, startsAt, stepSeconds, lines, moments = noMoments }: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const [index, setIndex] = useState<number | null>(null)
  const start = Date.parse(startsAt) / 1000
  const steps = lines[0]?.mean.length ?? 0
  const data = useMemo<uPlot.AlignedData>(
    () => [
      Array.from({ length: steps }, (_, i) => start + i * stepSeconds),
      ...lines.flatMap(({ mean, max }) => [[...mean], [...max]]),
    ],
    [start, stepSeconds, steps, lines],
  )

  useEffect(() => {
    const element = host.current!
    const made = new uPlot(
      optionsOf(element, { unit, stepSeconds, lines, moments }, setIndex),
      data,
      element,
    )
    plot.current = made
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [unit, stepSeconds, lines, moments, data])

  const last = Math.max(...lines.map(({ mean }) => mean.findLastIndex((value) => value !== null)))
  const shown = index ?? (last < 0 ? Math.max(0, steps - 1) : last)
  const timeAt = (i: number) => start + i * stepSeconds
  const near = Math.max(stepSeconds, steps * stepSeconds * nearPart) * 1000
  // What happened is told of the moment that was chosen, not of the newest values.
  const happened =
    index === null
      ? []
      : moments.filter(({ at }) => Math.abs(at - timeAt(index) * 1000) <= near).slice(-2)
  const readings = lines.map((line) => `${line.title} ${valueText(line.mean[shown], unit)}`)

  const move = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -60, PageUp: 60 }[event.key]
    const to =
      event.key === 'Home'
        ? 0
        : event.key === 'End'
          ? steps - 1
          : by === undefined
            ? null
            : shown + by
    if (to === null) return
    event.preventDefault()
    const next = Math.min(steps - 1, Math.max(0, to))
    setIndex(next)
    const u = plot.current!
    u.setCursor({ left: u.valToPos(timeAt(next), 'x'), top: 0 })
  }

  return (
    <figure className={css['chart']}>
      <figcaption className={css['head']}>
        <span className={css['title']}>{title}</span>
        {lines.map((line, i) => (
          <span key={line.title} className={cx(css['reading'], i > 0 && css['second'])}>
            <i />
            {lines.length > 1 && line.title} {valueText(line.mean[shown], unit)}
          </span>
        ))}
        <time className={css['time']} dateTime={new Date(timeAt(shown) * 1000).toISOString()}>
          {timeText(timeAt(shown))}
        </time>
        {happened.map(({ at, text }) => (
          <span key={`${at} ${text}`} className={css['moment']}>
            {text}
          </span>
        ))}
        <span className="sr">{summaryOf(lines, unit, timeAt)}</span>
      </figcaption>
      <div
        ref={host}
        className={css['plot']}
        role="slider"
        tabIndex={0}
        aria-label={`${title}: moment`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, steps - 1)}
        aria-valuenow={shown}
        aria-valuetext={[
          `${timeText(timeAt(shown))}: ${readings.join(', ')}`,
          ...happened.map(({ text }) => text),
        ].join('. ')}
        onKeyDown={move}
      />
    </figure>
  )
}
