/**
 * Column types that are narrower than the schema: the content of JSON columns, and text columns
 * with a fixed set of values.
 */
import type { Bmc } from '#contract/bmcs/bmcs.ts'
import type { PowerState } from '#contract/bmcs/state.ts'
import type { Targets } from '#contract/shared-patches/shared-patches.ts'
import type { EndingCertificate } from '#contract/clusters/ending-certificates.ts'
import type { EtcdAlarm } from '#contract/clusters/health.ts'
import type { KeptObject, ReplaceableObject } from '#contract/clusters/existing.ts'
import type { MaintenanceWindow } from '#contract/clusters/changes/window.ts'
import type { joiningSteps, leavingSteps } from '#contract/clusters/steps.ts'
import type { EarlyDocuments } from '#contract/images/early.ts'
import type { StoppedUpgrade, WorstFinding } from '#contract/findings/findings.ts'
import type { FindingKind, FindingObject } from '#contract/findings/kinds.ts'
import type { Labels } from '#contract/labels/selector.ts'
import type { OfferResources } from '#contract/marketplace/offers.ts'
import type { Operation, OperationKind } from '#contract/operations.ts'
import type { Scope } from '#contract/permissions.ts'
import type { Quarantine } from '#contract/servers/eligibility.ts'
import type { PendingConfiguration } from '#contract/servers/server.ts'
import type { Resources, Stage } from '#contract/servers/servers.ts'
import type { LastChange } from '#contract/servers/silence.ts'
import type { NewTemplate } from '#contract/templates/templates.ts'
import type { MachineImages } from '#talos/facts/images.ts'
import type { SecretSample } from '../backup/encrypted-secret.ts'

export interface HardwareLink {
  /** `enp129s0f0` */
  readonly name: string
  readonly up: boolean
  /** A physical port of the machine, not a bond, bridge, VLAN or loopback. */
  readonly physical: boolean
  readonly hardware_addr: string | null
  /** With prefix: `10.1.2.3/24`. */
  readonly addresses: readonly string[]
  /** Of ports, as far as known. */
  readonly driver?: string
  /** `0000:81:00.0` */
  readonly bus_path?: string
  /** Vendor and product: `15B3:101D`. */
  readonly pci_id?: string
  /** Other names that the kernel knows the link by. */
  readonly alt_names?: readonly string[]
}

export interface HardwareRoute {
  /** Network in CIDR notation; empty for a default route. */
  readonly destination: string
  readonly gateway: string
  readonly link: string
  readonly metric: number
}

export interface Hardware extends Omit<Resources, 'node_addresses'> {
  /** Addresses of the machine without prefix, as the console shows them. */
  readonly addresses: readonly string[]
  readonly links: readonly HardwareLink[]
  readonly routes: readonly HardwareRoute[]
  /** Names of the extensions of the image that was running; left out if they are unknown. */
  readonly extensions?: readonly string[]
}

/** The image that the servers of a new cluster get. A field that is left out stays as it is. */
export interface WantedImage {
  readonly extensions?: readonly string[] | undefined
  readonly kernel_args?: readonly string[] | undefined
}

/** What whoever added a BMC has said of its box. */
export interface BoxWishes {
  readonly datacenter_id?: string | null
  readonly rack?: string
  readonly unit?: number
  readonly labels?: Labels
}

/** The step that a server has reached while it joins or leaves a cluster. */
export type Place = keyof typeof joiningSteps | keyof typeof leavingSteps | 'done'

/** Device path → WWID. */
export type DiskWwids = Readonly<Record<string, string>>

/** A disk that a user agreed to wipe, and the disk's content at the time of the agreement. */
export interface Agreed {
  readonly model: string | null
  readonly serial: string | null
  readonly wwid: string | null
  readonly content: string
}
/** Device path → disk that the user agreed to wipe. */
export type AgreedDisks = Readonly<Record<string, Agreed>>

/** A member of etcd or an API server, as it was when it was last asked. */
export interface ObservedPart {
  readonly node_id: string | null
  readonly name: string
  /** Why it is not well; null if it is, or if its machine doesn't answer. */
  readonly ill: string | null
  /** How often in a row it was not well, in readings at least 20 s apart. */
  readonly misses: number
  /** When it was last counted, ISO 8601; null if it is well. */
  readonly missed_at?: string | null
}

/** What a running cluster showed last. */
export interface Observed {
  readonly etcd: readonly (ObservedPart & {
    readonly size_bytes: number | null
    readonly alarms: readonly EtcdAlarm[]
  })[]
  readonly api_servers: readonly ObservedPart[]
  /** Disks of the cluster that their servers didn't show. One reading alone is no loss. */
  readonly missing_disks: readonly (MissingDisk & Pick<ObservedPart, 'misses' | 'missed_at'>)[]
}

/** A disk of the cluster that its server didn't show. */
export interface MissingDisk {
  readonly node_id: string
  readonly name: string
  readonly device: string
}

type Values = Record<string, unknown>

/** The finding of an incident that takes the most. */
export interface WorstPart {
  readonly finding_id: string
  readonly kind: FindingKind
  readonly object: { readonly kind: FindingObject; readonly id: string; readonly name: string }
  readonly cluster_id: string | null
  readonly operation_id: string | null
  readonly reason: string
}

export interface Columns {
  'api_token.scopes': Scope[]
  'audit_entry.after': unknown
  'audit_entry.before': unknown
  'early_documents.documents': EarlyDocuments
  'image.early': EarlyDocuments
  'audit_excerpt.after': unknown
  'audit_excerpt.before': unknown
  'cluster.certificates_ending': readonly EndingCertificate[]
  'cluster.finding': WorstFinding
  'bmc.candidates': Bmc['candidates']
  'bmc.capabilities': Partial<Bmc['capabilities']>
  'bmc.certificate': NonNullable<Bmc['certificate']>
  'bmc.wishes': BoxWishes
  'cluster.labels': Labels
  'cluster.kept': readonly KeptObject[]
  'cluster.maintenance_window': MaintenanceWindow
  'cluster.observed': Observed
  'cluster.replaces': Readonly<Partial<Record<ReplaceableObject, string>>>
  'cluster.upgrade': StoppedUpgrade
  'cluster.wanted_image': WantedImage
  'cluster_recovery.wiped_boots': Readonly<Record<string, string>>
  'cluster_server.agreed_disks': AgreedDisks
  'cluster_server.at': Place
  'cluster_server.disk_wwids': DiskWwids
  'cluster_server.images': MachineImages
  'delivery.content': unknown
  'event.data': Values
  'history.after': Values
  'history.before': Values
  'history_base.state': Values
  'idempotent_call.answer': unknown
  'incident.kind': FindingKind
  'incident.objects': readonly WorstPart['object'][]
  'incident.worst': WorstPart
  'incident_step.object_kind': FindingObject
  'join_token.labels': Labels
  'measurement_day.day': string
  'measurement_minute.figures': readonly (number | null)[]
  'offer.resources': OfferResources
  'operation.arguments': unknown
  'operation.kind': OperationKind
  'operation.target_kind': Operation['target']['kind']
  'outbox.audit': unknown
  'outbox.event': unknown
  'patch.labels': Record<string, string>
  'preference.preferences': Values
  'server.finding': WorstFinding
  'server.labels': Labels
  'server.hardware': Hardware
  'server.last_change': LastChange
  'server.pending': PendingConfiguration
  'server.power': PowerState
  'server.quarantine': Quarantine
  'server.stage': Stage
  'server.unmet': readonly { readonly name: string; readonly reason: string }[]
  'shared_layer.filled': Readonly<Record<string, string>>
  'shared_patch.targets': Targets
  'shared_view.search': Readonly<Record<string, string>>
  'template.definition': Omit<NewTemplate, 'name'>
  'template.listed': object
  'snapshot.encryption': readonly SecretSample[]
  'signing_key.public_jwk': Values
  'silence.repeats': MaintenanceWindow
}
