import { hasFeature } from '../config/versions.ts'

/** Roles of each call (Talos: internal/app/machined/pkg/system/services/machined.go). Other calls need os:admin. */
const READER = ['os:admin', 'os:operator', 'os:reader']
const OPERATOR = ['os:admin', 'os:operator']
const BACKUP = 'os:etcd:backup'

const machine = (names: string): string[] => names.split(' ').map((name) => `machine.MachineService/${name}`)

const RULES = new Map<string, readonly string[]>([
  ...[
    ...machine(
      'CPUInfo CPUFreqStats Containers DiskStats DiskUsage Dmesg Events Hostname ImageList List LoadAvg Logs LogsContainers Memory Mounts NetworkDeviceStats Netstat Processes ServiceList Stats SystemStat Version',
    ),
    'cluster.ClusterService/HealthCheck',
    'machine.ImageService/List',
    'storage.StorageService/Disks',
    'time.TimeService/Time',
    'time.TimeService/TimeCheck',
    'cosi.resource.State/Get',
    'cosi.resource.State/List',
    'cosi.resource.State/Watch',
    // The handlers check further: a reader only in maintenance.
    'machine.MachineService/ApplyConfiguration',
    'storage.StorageService/BlockDeviceWipe',
  ].map((method) => [method, READER] as const),
  ...machine('EtcdAlarmList EtcdMemberList EtcdStatus').map((method) => [method, [...READER, BACKUP]] as const),
  ...machine('EtcdSnapshot').map((method) => [method, [...OPERATOR, BACKUP]] as const),
  ...[
    ...machine('EtcdAlarmDisarm EtcdDefragment ImagePull PacketCapture Reboot Restart ServiceRestart ServiceStart ServiceStop Shutdown'),
    'machine.ImageService/Pull',
  ].map((method) => [method, OPERATOR] as const),
  ...machine('MetaWrite MetaDelete').map((method) => [method, ['os:admin', 'os:meta:writer']] as const),
])

/** `method` is the gRPC path without its first slash. */
export const mayCall = (roles: readonly string[], method: string): boolean => (RULES.get(method) ?? ['os:admin']).some((role) => roles.includes(role))

const OLD_MAINTENANCE = new Set([
  'machine.MachineService/ApplyConfiguration',
  'storage.StorageService/Disks',
  'storage.StorageService/BlockDeviceWipe',
  'cosi.resource.State/Get',
  'cosi.resource.State/List',
  'cosi.resource.State/Watch',
])

/** Whether a call exists in maintenance: until 1.12 only those of a small server, since 1.13 the whole API. */
export const answersInMaintenance = (talosMinor: number, method: string): boolean =>
  hasFeature(talosMinor, 'readerInMaintenance') || OLD_MAINTENANCE.has(method)
