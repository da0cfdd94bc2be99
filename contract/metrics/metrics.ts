/**
 * The metrics that `/metrics` shows in Prometheus's text format, besides those of Node.js. One table:
 * a metric without a row doesn't compile, and the dashboard and the rules in `deploy/` are tested
 * against it. Names follow Prometheus's practice (prometheus.io/docs/practices/naming).
 */

interface Metric {
  readonly type: 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
}

const gauge = <const Labels extends readonly string[] = readonly []>(
  help: string,
  ...labels: Labels
) => ({ type: 'gauge', help, labels }) as const

/** The route of a request is its pattern (`/v1/nodes/:id`), so its labels hold no user input. */
export const requestDuration = {
  name: 'steelyard_http_request_duration_seconds',
  type: 'histogram',
  help: 'Time until the response was sent, by route. Without streams of events and logs.',
  labels: ['method', 'route', 'status'],
  buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10],
} as const

export const gauges = {
  steelyard_info: gauge('Version of the program.', 'version'),
  steelyard_heap_used_bytes: gauge('JavaScript heap in use.'),
  steelyard_event_loop_utilization: gauge(
    'Share of time that the event loop was busy, since the start.',
  ),
  steelyard_streams_open: gauge('Open streams of live events and logs.'),
  steelyard_database_up: gauge('Whether the database answers.'),
  steelyard_database_connections: gauge('Database connections in the pool.'),
  steelyard_database_waiting: gauge('Requests that wait for a database connection.'),
  steelyard_operations_open: gauge('Operations that have not ended.'),
  steelyard_wakeups_due: gauge('Objects whose next run is due but has not begun.'),
  steelyard_wakeups_failing: gauge('Objects whose last run failed.'),
  steelyard_escrow_failing: gauge(
    'Clusters that wait because their escrow file cannot be written.',
  ),
  steelyard_held_objects: gauge(
    'Clusters, and operations without a cluster, to which nothing is sent until a user resumes them, because the database was restored or went back in time.',
    'object',
  ),
  steelyard_outbox_waiting: gauge('Changes that have not been published.'),
  steelyard_servers: gauge(
    'Servers by datacenter, status, and contact: answers, away (an operation restarts it), unreachable, or unasked.',
    'datacenter',
    'status',
    'contact',
  ),
  steelyard_server_states: gauge(
    'Servers by the word that is said of them everywhere, and its severity: empty if nothing is wrong.',
    'word',
    'severity',
  ),
  steelyard_clusters: gauge('Clusters by status.', 'status'),
  steelyard_cluster_state: gauge(
    'The word that is said of a cluster everywhere, and its severity: empty if nothing is wrong.',
    'cluster',
    'word',
    'severity',
  ),
  steelyard_cluster_info: gauge(
    'A cluster, its datacenter, and the versions that it is meant to run.',
    'cluster',
    'datacenter',
    'talos_version',
    'kubernetes_version',
  ),
  steelyard_findings: gauge(
    'Open findings by kind of object, kind, severity, and whether somebody has acknowledged them.',
    'object',
    'kind',
    'severity',
    'acknowledged',
  ),
  steelyard_cluster_findings: gauge(
    'Open findings of a cluster and its servers, by severity.',
    'cluster',
    'severity',
  ),
  steelyard_cluster_certificate_expiry_timestamp_seconds: gauge(
    'When a certificate expires that a user has to replace. The server is empty for a certificate of the whole cluster.',
    'cluster',
    'certificate',
    'server',
  ),
  steelyard_cluster_snapshot_timestamp_seconds: gauge(
    'When the newest snapshot of a cluster that can be restored was taken.',
    'cluster',
  ),
  steelyard_backup_timestamp_seconds: gauge(
    'When the newest backup of Steelyard that is in a store and can be restored was taken.',
  ),
  steelyard_backups_failing: gauge(
    '1 if the last backup of Steelyard failed, or if its schedule is late or paused; else 0. Missing if there is neither a backup nor a schedule.',
  ),
  steelyard_channels_failing: gauge(
    'Channels of alerts whose last message did not arrive, without those that are paused.',
  ),
  steelyard_subnet_addresses: gauge(
    'Addresses of an assigned subnet by state: used or free. Subnets with unknown use are left out.',
    'subnet',
    'cidr',
    'state',
  ),
} as const satisfies Readonly<Record<string, Metric>>

export type GaugeName = keyof typeof gauges
/** One value of a gauge, with a text for each of its labels. */
export type Sample<Name extends GaugeName> = {
  readonly value: number
} & Readonly<Record<(typeof gauges)[Name]['labels'][number], string>>
/** Values by gauge. A gauge without a value isn't shown. */
export type Figures = { readonly [Name in GaugeName]?: readonly Sample<Name>[] }
