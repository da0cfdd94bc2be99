import {
  type Measurements,
  serverMeasurements,
  serverSeries,
  type ServerSeries,
} from '#contract/measurements/measurements.ts'
import type { Server } from '#contract/servers/servers.ts'
import { query } from '../../../api/query.ts'
import { ContactStrip } from '../../../layout/charts/ContactStrip.tsx'
import { type UsageChart, UsageOverTime } from '../../../layout/charts/UsageOverTime.tsx'
import { paths } from '../../../lib/paths.ts'
import { Empty } from '../../../ui/feedback/States.tsx'

const { cpu, memory, received, sent } = serverSeries

const charts: readonly UsageChart<ServerSeries>[] = [
  { title: cpu.title, of: { cpu: cpu.title } },
  { title: memory.title, of: { memory: memory.title } },
  { title: 'Disks', of: { disk_read: 'Read', disk_written: 'Written' } },
  { title: 'Links', of: { received: received.title, sent: sent.title } },
]

const contact = ({ starts_at, step_seconds, series }: Measurements) => (
  <ContactStrip
    values={series.find(({ name }) => name === 'answered')?.mean ?? []}
    startsAt={starts_at}
    stepSeconds={step_seconds}
  />
)

/** How much of a server is in use over time, and when it answered. */
export default function ServerUsage({ server }: { server: Pick<Server, 'id' | 'cluster'> }) {
  return (
    <UsageOverTime
      of={(from) => query(serverMeasurements, { params: { id: server.id }, query: { from } })}
      charts={charts}
      above={contact}
      subject={{
        id: server.id,
        history: { object: server.id },
        historyOf: (period) => paths.serverHistory(server.id, period),
      }}
      nothing={
        <Empty
          title="Usage was not measured in this period"
          text={
            server.cluster !== null
              ? 'Steelyard reads the server once a minute. The first values of processors, disks and links come after two minutes.'
              : 'Steelyard measures servers that run in a cluster. In maintenance mode Talos does not tell how much is in use.'
          }
        />
      }
    />
  )
}
