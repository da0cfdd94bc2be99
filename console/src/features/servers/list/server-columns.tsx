import { Suspense } from 'react'
import { matchedText, type ListedServer, serverList } from '#contract/servers/servers.ts'
import { ccTones } from '../../../ui/feedback/cc-tones.ts'
import { counted } from '#contract/words.ts'
import { paths } from '../../../lib/paths.ts'
import { useStore } from '../../../lib/store.ts'
import { sentence } from '../../../lib/text.ts'
import { disk, memory } from '../../../lib/units.ts'
import { nameWidth, type WidthFrom } from '../../../ui/table/DataTable.tsx'
import { strongPx, widest } from '../../../ui/table/text-width.ts'
import { listColumns, none } from '../../../ui/table/list-columns.tsx'
import { Flag } from '../../../ui/pictures/Flag.tsx'
import { Badge, StatusDot, StatusReason } from '../../../ui/feedback/Status.tsx'
import { part } from '../../../ui/part.tsx'
import { Contact } from './Contact.tsx'
import css from './server-columns.module.css'
import { statusOf } from '../server-state.ts'
import { newServers } from './arrivals.ts'

/**
 * A server's word and sentence. In a list it has one line, and only the sentence may be cut. A
 * server in quarantine always shows so.
 */
function ServerStatus({ server }: { server: ListedServer }) {
  const { tone, word, why } = statusOf(server)
  return (
    <StatusReason
      tone={tone}
      word={
        server.quarantine ? (
          <>
            {word}{' '}
            <Badge tone="line" icon="lock" title={server.quarantine.reason}>
              Quarantined
            </Badge>
          </>
        ) : (
          word
        )
      }
      why={why}
    />
  )
}

/**
 * A server's name, marked for a while if the server joined while the list was open. If the search
 * matched other text than the name, shows that text too.
 */
function Name({ server: s }: { server: ListedServer }) {
  const isNew = useStore(newServers).has(s.id)
  const name = isNew ? (
    <span className={css['new']} title="Joined just now">
      {s.name}
    </span>
  ) : (
    s.name
  )
  const matched = matchedText(s)
  if (matched === null) return name
  return (
    <span className={css['found']}>
      {name}
      <small title={matched}>{matched}</small>
    </span>
  )
}

const roleOf = (s: ListedServer): string =>
  s.type === 'unknown' ? '' : ` · ${sentence(s.type).toLowerCase()}`

const LabelChips = part(() => import('../../../layout/labels/LabelChips.tsx'))

/** Cores, memory and disks, where known. */
const sizesOf = (h: ListedServer['hardware']): string[] =>
  [
    h.cores === null ? null : counted(h.cores, 'core'),
    h.memory_bytes === null ? null : memory(h.memory_bytes),
    h.disk_bytes === null ? null : disk(h.disk_bytes),
  ].filter((part) => part !== null)

/** Breaks only between the parts of a line, so that what has no room leaves no half word. */
const wrappedBetweenParts = (line: string): string =>
  line.replaceAll(' ', '\u00A0').replaceAll('\u00A0·', ' ·')

/** Padding of a cell, and shape of a status with its gap, in px. */
const paddingOf = (from: WidthFrom): number => (from.xl ? 20 : 12)
const shape = 15
/**
 * Statuses in px: "Unreachable since 17:38" is always whole, "Unreachable since 17:38 · connection
 * refused" and what other statuses say if there is room. `stacked`: on narrower screens, where the
 * reason may have a line of its own.
 */
const statusPx = { least: 188, trouble: 308, usual: 226, stacked: 214 }

/**
 * The columns. Names, clusters and commitments have room for the longest of the list, the hardware
 * for cores and memory, the status for its word and time. What is left goes to the status up to the
 * usual reason, then to the hardware.
 */
const columns = listColumns(serverList.list, {
  name: {
    fixed: true,
    width: (from, rows) => ({
      least: 110,
      most: widest(
        rows.map((s) => s.name),
        { least: 110, most: nameWidth, more: strongPx + paddingOf(from) },
      ),
    }),
    card: 'name',
    cell: (s) => <Name server={s} />,
  },
  status: {
    fits: true,
    width: (from, rows) =>
      from.md
        ? {
            least: statusPx.least + paddingOf(from),
            most:
              paddingOf(from) +
              (rows.some((s) => statusOf(s).tone === 'danger') ? statusPx.trouble : statusPx.usual),
          }
        : { least: statusPx.stacked },
    card: 'state',
    cell: (s) => <ServerStatus server={s} />,
  },
  cluster: {
    fits: true,
    width: (from, rows) =>
      widest(
        rows.flatMap((s) => (s.cluster ? [`${s.cluster.name}${roleOf(s)}`] : [])),
        { least: 70, most: from.xl ? 260 : 200, more: paddingOf(from) },
      ),
    from: 'md',
    cell: (s) =>
      s.cluster ? (
        <span className={css['cluster']}>
          <a className="t2" href={paths.cluster(s.cluster.id)}>
            {s.cluster.name}
          </a>
          <span className="t3">{roleOf(s)}</span>
        </span>
      ) : (
        none
      ),
  },
  hardware: {
    width: (from, rows) => ({
      least: widest(
        rows.map(({ hardware }) => sizesOf(hardware).slice(0, 2).join(' · ')),
        { least: 70, most: 160, more: 4 + paddingOf(from) },
      ),
    }),
    from: 'md',
    cell: ({ hardware }) => {
      const sizes = sizesOf(hardware).join(' · ')
      const { model } = hardware
      if (!model && !sizes) return <span className="t3">Unknown</span>
      // The model and its dot take a line of their own, which is not seen, if both have no room.
      return (
        <span className={css['hardware']} title={`${model ?? ''} ${sizes}`}>
          {model && <span>{sizes ? `${model} ·\u00A0` : model}</span>}
          <span>{wrappedBetweenParts(sizes)}</span>
        </span>
      )
    },
  },
  datacenter: {
    fits: true,
    width: (from, rows) =>
      (from.xl ? 26 : 0) +
      widest(
        rows.map((s) => s.datacenter?.code ?? ''),
        { least: 76, most: 110, more: paddingOf(from) },
      ),
    from: 'md',
    cell: ({ datacenter }, from) =>
      datacenter && from.xl ? (
        <span className="row">
          <Flag code={datacenter.code.slice(0, 2)} />
          {datacenter.code}
        </span>
      ) : (
        (datacenter?.code ?? none)
      ),
  },
  cc: {
    fits: true,
    width: (from, rows) =>
      widest(
        rows.map((s) =>
          s.capacity_commitment === null ? '' : sentence(s.capacity_commitment.status),
        ),
        { least: 60, most: 180, more: shape + paddingOf(from) },
      ),
    from: 'md',
    cell: ({ capacity_commitment: cc }) =>
      cc ? (
        <a className="t2" href={paths.cc(cc.id)}>
          <StatusDot tone={ccTones[cc.status]}>{sentence(cc.status)}</StatusDot>
        </a>
      ) : (
        none
      ),
  },
  labels: {
    width: 220,
    from: 'md',
    cell: ({ labels = {} }) =>
      Object.keys(labels).length === 0 ? (
        none
      ) : (
        <Suspense fallback={null}>
          <LabelChips labels={labels} of="server" inList />
        </Suspense>
      ),
  },
  contact: {
    fits: true,
    card: 'fact',
    width: (from, rows) =>
      from.md && !from.xl && rows.every((s) => s.talos.last_contact_at !== null)
        ? 82
        : from.xl
          ? 120
          : 112,
    cell: (s, from) =>
      from.md || s.datacenter === null ? (
        <Contact server={s} plain={!from.xl} />
      ) : (
        <span className={css['contact']}>
          <span className={css['site']}>
            {s.datacenter.code}
            <span className={css['comma']}>,</span>
          </span>
          <Contact server={s} />
        </span>
      ),
  },
})

/** Without commitments among the servers, their column is hidden until a user turns it on. */
export const serverColumns = columns.map((c) => (c.id === 'cc' ? { ...c, hidden: true } : c))
/** Below `lg` the reason of a status has no room beside commitments and the datacenter. */
export const committedColumns = columns.map((c) =>
  c.id === 'datacenter' ? { ...c, from: 'lg' as const } : c,
)
